"""The MLflow registry, seen from a client: find versions, fetch files, attach files to it. It decides nothing."""
