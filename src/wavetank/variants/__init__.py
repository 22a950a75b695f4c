"""Variants of a kernel: the same bytes, with one knob of the application turned."""
