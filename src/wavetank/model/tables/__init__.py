"""A model, or a trace, as plain rows: what the command line prints and a report shows.

In: a ``Model`` with its findings, or a ``Trace``. Out: ``ModelTable``.
"""
