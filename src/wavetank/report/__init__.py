"""Reports for people: tables, plots, one HTML file."""
