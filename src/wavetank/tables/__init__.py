"""Tables: defined once, with a key, a title and a unit for each column; rendered as text, CSV, JSON, Markdown and HTML.

In: items of any stage. Out: tables without markup, and what files and terminals show of them.
"""
