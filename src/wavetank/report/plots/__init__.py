"""Plots of a report and of a model.

In: comparisons, models, measurements. Out: SVG text, or a file of a plot. Nothing else of the house knows matplotlib.
"""
