"""Ed25519 keys and signed envelopes (DSSE): bytes in, bytes out, no database and no MLflow."""

from __future__ import annotations

__all__ = ["KEY_VARIABLE", "NEW_PASSPHRASE_VARIABLE", "PASSPHRASE_VARIABLE"]

KEY_VARIABLE = "COORDPATH_KEY"
PASSPHRASE_VARIABLE = "COORDPATH_KEY_PASSPHRASE"  # noqa: S105 - its name, not itself
NEW_PASSPHRASE_VARIABLE = "COORDPATH_NEW_KEY_PASSPHRASE"  # noqa: S105 - its name, not itself
