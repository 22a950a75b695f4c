"""The public Python interface: what ``import wavetank`` offers, as few classes over the stages.

In: paths of traces, logs, models, kernels and results. Out: tables and figures. ``wavetank.__init__`` names what is
public and imports it when it is asked for; ``packaging/public-names.pyi`` says the same to type checkers.
"""
