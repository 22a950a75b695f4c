"""CephFS: monitor, metadata servers and object stores."""
