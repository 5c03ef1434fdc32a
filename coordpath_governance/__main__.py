"""`python -m coordpath_governance` is `coordpath`."""

from coordpath_governance.cli.main import main

main()
