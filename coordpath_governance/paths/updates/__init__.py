"""Updates: the best models that differ from the start in few units, and simpler rules to compare them with."""
