"""Kernels: the same I/O without the application, exactly or by a benchmark's parameters.

In: a model. Out: a kernel, its certificate, and results of its runs. The rooms, each of which imports only those before it:
``document``, ``files``, ``ordering``, ``benchmarks``, ``construction``, ``lowering``, ``fidelity``, ``preparation``, ``results``,
``execution``.
"""
