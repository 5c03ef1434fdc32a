"""Orders: every changed unit moves exactly once, or the best m do and then all the rest."""
