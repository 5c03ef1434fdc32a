"""Review: who has to agree to a change, who did, and what may therefore happen to an alias."""
