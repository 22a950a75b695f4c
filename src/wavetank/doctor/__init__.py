"""What this machine can do, and how what is missing is had.

In: the machine itself. Out: a finding for each ability.
"""
