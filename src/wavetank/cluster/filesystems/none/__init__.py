"""No global file system: the local disk of each node."""
