"""The I/O model of an application: its files, phases and their order (METHOD section 2)."""
