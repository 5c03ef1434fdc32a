"""Policy: rules over a change report, and the verdict that follows from them; no clock, no MLflow, no database."""
