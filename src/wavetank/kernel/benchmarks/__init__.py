"""Command lines of IOR, fio and mdtest that come near a kernel.

In: a kernel's phases and steps. Out: lines, and a sentence on each thing that a line does not do.
"""
