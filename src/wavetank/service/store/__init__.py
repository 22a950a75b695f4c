"""The service's folder: one SQLite database, written by one process, each change in one transaction."""
