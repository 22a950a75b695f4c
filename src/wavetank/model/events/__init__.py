"""What each row of a trace is: which file is meant, which call it is, which stream it belongs to.

In: a ``Trace`` and ``Folded`` rows. Out: ``Rows`` with their kinds, ``DataRows`` by stream, names and families of files.
"""
