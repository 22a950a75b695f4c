"""The command line: parses and prints; one file per command."""
