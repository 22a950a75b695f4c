"""Readers of other tools' logs into the tables of a trace."""
