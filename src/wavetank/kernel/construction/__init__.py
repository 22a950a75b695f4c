"""Makes kernels: of a model, or of objects that clients read and write.

In: a model. Out: a `Kernel`, with a sentence on everything that it does not do or know.
"""
