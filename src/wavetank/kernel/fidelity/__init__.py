"""The certificate: what a kernel will issue against what its model did.

In: a model, its kernel, and the plan's text read back. Out: differences by phase, order, names and files.
"""
