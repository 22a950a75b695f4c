"""NFS spaces: an image with a file system of its own each, exported by nfs-ganesha to a list of clients."""
