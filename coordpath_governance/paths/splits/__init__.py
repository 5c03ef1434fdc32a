"""Paths of decision trees: steps are splits that are removed, added or moved, and leaves whose value changes.

`split_units` says which steps there are and which comes after which, `measured` what each does on the reference rows,
`solve` finds the order and says what is proved of it.
"""
