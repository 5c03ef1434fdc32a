"""Which wording of its sentences and which judgement of its rules a report was made with.

A report is verified by composing it again. Its figures are the same in every edition; its sentences are not, and neither is
what a rule says where an earlier edition took more for granted than it knew. So a document names its edition.
"""

from __future__ import annotations

from typing import Literal

__all__ = ["EDITION", "Edition"]

Edition = Literal[2]

EDITION: Edition = 2
"""Of the reports that are made now. The first edition is the absence of the key: reports of 0.1 from before there were two.

Since 2: a cut-off names its class, and `decision_flips` is not known where it does not; flips are counted in rows.
"""
