"""The C passes of the extraction (native/model), called with columns.

In: columns of operations, rows, orders and lists. Out: small numbers and places, as arrays.
"""
