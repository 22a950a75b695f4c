"""Metrics of clusters and their ranking."""
