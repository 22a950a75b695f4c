"""What a measurement would cost, from dated price tables."""
