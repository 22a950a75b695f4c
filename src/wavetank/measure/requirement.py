"""What a user asks of an instance: ``network>=1Gbit/s``, ``memory>=16GiB``, ``cores>=8``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wavetank.errors import UsageError
from wavetank.units import format_rate, format_size, parse_rate, parse_size

RATES = ("read", "write", "network", "network_peak", "ebs")
SIZES = ("memory", "local_storage")
COUNTS = ("cores", "vcpus", "ebs_iops")

_REQUIREMENT = re.compile(r"^\s*([a-z_]+)\s*>=\s*(.+?)\s*$")


@dataclass(frozen=True)
class Requirement:
    """At least ``least`` of a quantity: bytes/s, bytes or a count."""

    quantity: str
    least: int

    def show(self, value: float) -> str:
        """A value of this quantity for people."""
        if self.quantity in RATES:
            return format_rate(value)
        return format_size(value) if self.quantity in SIZES else f"{value:g}"

    def why_not(self, value: float | None) -> str | None:
        """Why a value does not fulfil it; None when it does. An unknown value does not."""
        if value is None:
            return f"{self.quantity} is not known, at least {self.show(self.least)} is required"
        if value >= self.least:
            return None
        return f"{self.quantity} {self.show(value)} is below {self.show(self.least)}"


def parse_requirement(text: str, quantities: tuple[str, ...]) -> Requirement:
    """Read ``quantity>=value``.

    Args:
        text: as written.
        quantities: the names that have a meaning here.

    Raises:
        UsageError: another form, another quantity, or not a value of it.
    """
    match = _REQUIREMENT.match(text)
    if match is None or match[1] not in quantities:
        raise UsageError(
            f"{text!r} is not a requirement. Write QUANTITY>=VALUE, e.g. 'network>=1Gbit/s'; "
            f"quantities: {', '.join(quantities)}"
        )
    quantity, value = match[1], match[2]
    try:
        if quantity in RATES:
            return Requirement(quantity, parse_rate(value))
        if quantity in SIZES:
            return Requirement(quantity, parse_size(value))
        return Requirement(quantity, int(value))
    except ValueError as error:
        raise UsageError(f"{text!r} is not a requirement: {error}") from error
