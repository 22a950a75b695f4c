"""A trace's rows in fewer rows: runs at regular distance, loops of several operations, lists and interleavings.

In: a ``FoldTable`` as the tracer or an importer left it. Out: ``Folded``, which unfolds to the same operations.
"""
