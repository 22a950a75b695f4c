"""Whether two models differ only in what the MPI library did inside of MPI-IO calls that are the same.

A file of its own: it compares two models again, at fewer levels, by what the comparison gives to all.
"""

from __future__ import annotations

from wavetank.model.comparison.difference import ModelDifference, compare_models
from wavetank.model.document.model import Model, own_levels

SENTENCE = (
    "the application's own calls are the same: what differs are POSIX calls that the MPI library made inside of MPI-IO "
    "calls, as it may from one run of a program to the next"
)


def notes_on_library_calls(a: Model, b: Model, found: ModelDifference) -> tuple[str, ...]:
    """A note where that is so.

    Args:
        a: a model.
        b: the other one.
        found: what differs between them.
    """
    if found.same:
        return ()
    own = own_levels(a), own_levels(b)
    n_inside = len(a.phases) + len(b.phases) - sum(len(one.phases) for one in own)
    return (SENTENCE,) if n_inside and compare_models(*own).same else ()
