"""How scikit-learn stores the nodes of a decision tree: one array of a structured type, the same since scikit-learn 1.3.

Nothing else of a structured type is read: neither from a pickle (`pickle_arrays`) nor from an archive (`archive_members`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

__all__ = ["NODE_TYPE", "NODE_TYPE_CODE", "NPY_OF_NODES", "is_node_type_state"]

_FORMATS: Mapping[str, str] = {
    "left_child": "<i8",
    "right_child": "<i8",
    "feature": "<i8",
    "threshold": "<f8",
    "impurity": "<f8",
    "n_node_samples": "<i8",
    "weighted_n_node_samples": "<f8",
    "missing_go_to_left": "|u1",
}
_BYTES = 64

NODE_TYPE = np.dtype(
    {
        "names": list(_FORMATS),
        "formats": list(_FORMATS.values()),
        "offsets": [8 * position for position in range(len(_FORMATS))],
        "itemsize": _BYTES,
    }
)
NODE_TYPE_CODE = f"V{_BYTES}"
"""What a pickle calls the type before its state arrives."""

_STATE = NODE_TYPE.__reduce__()[2]

_FIELDS = ", ".join(f"('{name}', '{form}')" for name, form in _FORMATS.items())
NPY_OF_NODES = re.compile(
    re.escape(f"{{'descr': [{_FIELDS}, ('', '|V7')], 'fortran_order': False, 'shape': (") + r"(?P<shape>[0-9]+),\), \}\s*"
)
"""The header of a ``.npy`` file of nodes."""


def is_node_type_state(state: tuple[object, ...]) -> bool:
    """Whether this is the state that numpy writes for `NODE_TYPE`, of types and not of texts that compare equal to types."""
    fields = state[4] if len(state) == len(_STATE) else None
    if not isinstance(fields, dict):
        return False
    parts = [part for value in fields.values() if type(value) is tuple for part in value[:1]]
    return len(parts) == len(_FORMATS) and all(isinstance(part, np.dtype) for part in parts) and state == _STATE
