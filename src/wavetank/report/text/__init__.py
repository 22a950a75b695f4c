"""Quantities in words for people: amounts, rates, intervals, classes of request sizes.

In: numbers and estimates of earlier stages. Out: text.
"""
