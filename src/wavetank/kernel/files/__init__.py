"""Files of a kernel: their names below the root, and what of each is there before a run.

In: a model's files and the steps of its programs. Out: `KernelFile` records, and the name of each call.
"""
