"""Shared and parallel file systems: a folder for each, whose module ``driver`` holds the class that the registry names.

In: hosts and a specification. Out: the file system mounted on compute nodes, its options in force, where files lie.
``base`` is what a driver is and what all of them use; ``nfs_export`` is what two of them use. A driver may be one module
in a package of its own as well (docs/how-to/write-a-driver.md).
"""
