"""Command lines of IOR, fio, mdtest and MPI-IO Test that come near a kernel.

In: a kernel's phases and steps. Out: lines, and a sentence on each thing that a line does not do.
"""
