"""The phases of a run: what recurs in each rank's streams, put together over ranks.

In: ``DataRows``. Out: ``Activity`` with the ranks' parts, and from them ``Phase`` and ``Series``.
"""
