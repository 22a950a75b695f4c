"""OrangeFS (PVFS2): data and metadata servers."""
