"""The exact order of what each rank does, in terms of phases.

In: ``Activity`` and the phases of its parts. Out: ``Program``.
"""
