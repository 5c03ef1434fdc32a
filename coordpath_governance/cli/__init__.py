"""The command line: `coordpath`."""
