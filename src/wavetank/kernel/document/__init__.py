"""What a kernel is: its document, and the words for its calls and steps.

In: nothing but a model's records. Out: `Kernel`, which every later room reads or makes.
"""
