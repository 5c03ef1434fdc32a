"""The registry that refuses: `coordpath:<uri>` is MLflow's own store of that URI with a guard in front of it."""
