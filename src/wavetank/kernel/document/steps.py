"""What two neighbouring steps of a program are to each other."""

from __future__ import annotations

from wavetank.kernel.document import calls
from wavetank.model.document.program import (
    FileStep,
    Step,
)


def are_of_one_call(old: Step | None, new: Step | None) -> bool:
    """Whether two steps are the two names of one call: rename, link, symlink."""
    return (
        isinstance(old, FileStep)
        and isinstance(new, FileStep)
        and old.iop_type == new.iop_type
        and old.iop_type in calls.ON_TWO_NAMES
        and (old.arg, new.arg) == (0, 1)
    )
