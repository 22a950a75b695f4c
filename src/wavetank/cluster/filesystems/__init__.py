"""Shared and parallel file systems: one driver a file."""
