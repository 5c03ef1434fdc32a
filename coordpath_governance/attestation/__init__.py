"""What was decided over which bytes, signed for anybody to check without us: in-toto statements in DSSE envelopes."""
