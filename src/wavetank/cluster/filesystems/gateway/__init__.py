"""NFS servers in front of a parallel file system (the dNFSp arrangement)."""
