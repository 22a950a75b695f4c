"""Models of runs of which only counters are known: what they say exactly, and what has to be assumed.

In: a ``Trace`` of counters. Out: a ``Trace`` of operations that agrees with them, and the model's ``Approximation``.
"""
