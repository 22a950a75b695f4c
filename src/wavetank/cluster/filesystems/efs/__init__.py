"""EFS: NFS 4.1 servers that AWS runs, mounted by the kernel of the nodes."""
