"""A directory served and mounted by NFS 3, whatever lies below it. Used by `nfs` and `gateway`."""
