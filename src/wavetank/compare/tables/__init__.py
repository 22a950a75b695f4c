"""Tables of a comparison, each defined once: `results`, the report and `try` show the same ones.

In: a comparison, and the configurations to show. Out: tables without markup.
"""
