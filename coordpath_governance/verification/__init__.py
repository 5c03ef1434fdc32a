"""Verification: a report, the folder it lies in and the model files, rechecked by whoever has them."""
