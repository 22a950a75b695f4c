"""What a run of a kernel gives.

In: what the replay or IOR printed. Out: `ReplayResult`: bytes, operations and times of each phase and rank.
"""
