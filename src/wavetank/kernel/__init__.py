"""Kernels: the same I/O without the application, exactly or by a benchmark's parameters."""
