"""Calls that failed in the traced run: which of them a replay makes, and sentences on the others."""

from __future__ import annotations

from collections import Counter
from errno import errorcode

from wavetank.kernel.document import calls
from wavetank.model.document.program import FileStep


class Failures:
    """The failed calls of a kernel's programs."""

    def __init__(self) -> None:
        self._left_out: Counter[str] = Counter()
        self._by_the_filter: Counter[str] = Counter()

    def takes(self, step: FileStep, times: int) -> bool:
        """Whether the replay makes a call that is performed ``times``; those that failed are counted."""
        if not step.error:
            return True
        what = f"{step.iop_type} ({errorcode.get(step.error, step.error)})"
        if not calls.is_performed(step):
            self._left_out[what] += times * step.count
            return False
        if calls.by_the_filter(step.iop_type, step.error) and not step.new_name:
            self._by_the_filter[what] += times * step.count
        return True

    def sentences(self) -> list[str]:
        """What the replay leaves out, and what fails without the storage."""
        left_out, filtered = (
            ", ".join(f"{n} {what}" for what, n in sorted(some.items()))
            for some in (self._left_out, self._by_the_filter)
        )
        found = []
        if left_out:
            found.append(f"Calls that failed are left out, because they would succeed: {left_out}.")
        if filtered:
            found.append(
                "Calls that failed fail with the same error without asking the storage, which might let them pass: "
                f"{filtered}."
            )
        return found
