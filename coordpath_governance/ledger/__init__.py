"""The ledger: an append-only, hash-chained, signed record of what was registered, reported, decided and promoted."""
