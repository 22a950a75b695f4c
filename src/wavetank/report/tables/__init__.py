"""Tables of a report: rankings, phases, costs, clusters, provenance.

In: a campaign as gathered, its models and kernels. Out: tables without markup.
"""
