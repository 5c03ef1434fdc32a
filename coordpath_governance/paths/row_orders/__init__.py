"""Orders under a cost on rows: sets of moved units are evaluated, and what they cost is remembered."""
