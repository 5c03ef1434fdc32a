"""The MLflow registry: the only package that talks to MLflow."""
