"""What a model's I/O shows before any campaign: sentences with numbers and, where the field knows one, a remedy.

In: a ``Model``. Out: ``Finding``, most severe first.
"""
