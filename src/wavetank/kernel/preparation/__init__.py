"""Input files of a kernel on storage, before it runs.

In: a kernel and a folder. Out: files with content that can be checked, out of the page cache; the space that a run needs.
"""
