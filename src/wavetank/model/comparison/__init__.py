"""Two models side by side: what is the same, what differs and by how much.

In: two ``Model``. Out: their differences as rows, in no more than what the sources of both tell.
"""
