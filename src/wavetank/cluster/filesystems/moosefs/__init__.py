"""MooseFS: one master, a chunk server on each data server."""
