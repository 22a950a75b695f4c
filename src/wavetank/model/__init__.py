"""The I/O model of an application: its files, phases and their order (method, section 2)."""
