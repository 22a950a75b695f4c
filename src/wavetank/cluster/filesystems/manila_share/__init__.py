"""A share of Manila: NFS servers that an OpenStack cloud runs, mounted by the kernel of the nodes."""
