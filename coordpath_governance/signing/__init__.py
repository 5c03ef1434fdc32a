"""Ed25519 keys and signed envelopes (DSSE): bytes in, bytes out, no database and no MLflow."""
