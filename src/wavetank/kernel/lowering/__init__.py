"""A kernel as the text that the replay program performs.

In: a kernel. Out: the plan, one line for each step or run of offsets; the refusal of what would wait for ever.
"""
