"""The certificate: what a kernel will issue against what its model did.

In: a model and its kernel. Out: differences by phase, order, names and files.
"""
