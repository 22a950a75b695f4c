"""Exact functions of the number of processes and the rank.

In: the numbers of all ranks at several process counts. Out: the function that gives each of them, or none.
"""
