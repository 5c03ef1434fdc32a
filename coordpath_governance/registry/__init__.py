"""The MLflow registry, seen from a client: find versions, fetch files, lay files beside a version. It decides nothing."""
