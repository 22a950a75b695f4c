"""Command lines of benchmark programs that come near a model."""
