"""Order between ranks that the collectives of a kernel do not give.

In: a kernel. Out: waits and signals between steps of its programs.
"""
