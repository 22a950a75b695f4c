"""Models of several process counts as exact functions of the count, and a model of one that was never traced.

In: models of one application at several process counts. Out: functions of the count, and an extrapolated ``Model``.
"""
