"""Reference data: the rows on which a change is measured, read once into moments, and again for figures of single rows."""
