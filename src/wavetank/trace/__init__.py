"""Recording an application's I/O, and reading what was recorded."""
