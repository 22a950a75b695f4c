"""A test of ReFrame that measures a campaign and holds it against a baseline.

ReFrame (https://reframe-hpc.readthedocs.io, version 4) runs tests of HPC systems. Its own thresholds are not used: whether
a time is slower is told by ``wavetank check``; ReFrame keeps the I/O times in its log of performance.
"""

from __future__ import annotations

from importlib.resources import files
from string import Template

from wavetank.compare.baseline import Baseline
from wavetank.tables.words import printable

_TEMPLATE = "reframe_test.txt"


def reframe_text(baseline: Baseline) -> str:
    """The test's Python file."""
    text = (files("wavetank.campaign") / _TEMPLATE).read_text(encoding="utf-8")
    title = f"I/O times of {printable(baseline.campaign)} against its baseline"
    words = "".join(
        each if each.isalnum() and each.isascii() else " " for each in baseline.campaign
    )
    name = "Wavetank" + "".join(word.capitalize() for word in words.split())
    plain = title.replace("\\", " ").replace('"', "'")
    return Template(text).substitute(name=name, title=repr(title), description=f"{plain}.")
