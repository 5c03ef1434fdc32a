"""What registry, ledger and review do together: report on a version, attach, register, declare, adopt, sweep, load."""
