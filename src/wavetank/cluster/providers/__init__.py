"""Where nodes come from: one driver a file."""
