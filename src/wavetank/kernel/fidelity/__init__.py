"""The certificate: what a kernel will do against its model.

In: a model and its kernel. Out: a row for each phase and one for what lies beside them, each with what differs.
"""
