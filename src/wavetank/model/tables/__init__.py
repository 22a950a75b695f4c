"""Tables of a model, and of a trace: what the command line prints and a report shows.

In: a ``Model`` with its findings, or a ``Trace``. Out: tables without markup.
"""
