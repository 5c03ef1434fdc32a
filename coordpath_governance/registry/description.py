"""The report's summary in a version's description, beside what a person wrote there."""

from __future__ import annotations

import re

__all__ = ["described"]

BEGIN, END = "<!-- coordpath:begin -->", "<!-- coordpath:end -->"
MAX_CHARACTERS = 5000
_BLOCK = re.compile(rf"{re.escape(BEGIN)}(?:(?!{re.escape(BEGIN)}).)*?{re.escape(END)}", re.DOTALL)


def described(current: str, summary: str) -> str:
    """``current`` with our block replaced where it stands, or added at its end; a person's words are kept as they are.

    If both do not fit, our block gives way: what a person wrote is never cut.
    """
    block = f"{BEGIN}\n{summary.strip()}\n{END}"
    match = _BLOCK.search(current)
    if match is None:
        whole, own = f"{current.rstrip()}\n\n{block}" if current.strip() else block, current
    else:
        before, after = current[: match.start()], _BLOCK.sub("", current[match.end() :])
        whole, own = f"{before}{block}{after}", f"{before}{after}"
    return whole if len(whole) <= MAX_CHARACTERS else own
