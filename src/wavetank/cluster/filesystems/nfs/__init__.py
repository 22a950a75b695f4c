"""NFS 3 with one server."""
