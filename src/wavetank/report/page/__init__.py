"""A report put together: what comes first, and the file that it becomes.

In: a campaign as gathered. Out: one HTML file, Markdown, CSV or JSON.
"""
