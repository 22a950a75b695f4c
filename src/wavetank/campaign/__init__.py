"""Many measurements by one plan, kept as they end."""
