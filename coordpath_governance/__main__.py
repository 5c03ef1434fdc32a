"""`python -m coordpath_governance` is `coordpath`."""

from __future__ import annotations

from coordpath_governance.cli.main import main

main()
