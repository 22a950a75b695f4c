"""A file system that is mounted already."""
