"""The model as a document: files, phases, programs and what is said of them; read, checked and written.

In: nothing of the other rooms. Out: ``Model`` and its records, and functions on them that any stage may call.
"""
