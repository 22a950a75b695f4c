"""How a total is divided into parts, as integers: rules, the units they are in, and what sizes follow from them.

Reads sizes of parts in several runs; leaves every rule that gives all of them. Where rules differ at another number of parts,
none of them is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from wavetank.model.scaling.functions.process_functions import (
    Candidates,
    NoFunctionError,
    candidates,
    whole_at,
)

Column = Mapping[int, Sequence[int]]
"""By process count, values in the ascending order of what they are of: ranks, or parts."""


def _first(total: int, parts: int) -> list[int]:
    return [total // parts + (part < total % parts) for part in range(parts)]


def _last(total: int, parts: int) -> list[int]:
    return _first(total, parts)[::-1]


def _ceil(total: int, parts: int) -> list[int]:
    block = -(-total // parts)
    return [max(0, min(block, total - part * block)) for part in range(parts)]


def _rest_last(total: int, parts: int) -> list[int]:
    return [total // parts] * (parts - 1) + [total // parts + total % parts]


def _spread(total: int, parts: int) -> list[int]:
    return [(part + 1) * total // parts - part * total // parts for part in range(parts)]


RULES: dict[str, Callable[[int, int], list[int]]] = {
    "the first {rest} parts one more": _first,
    "the last {rest} parts one more": _last,
    "blocks of ceil({total} / {parts}), the last parts what is left": _ceil,
    "the last part takes the rest": _rest_last,
    "part i from floor(i * {total} / {parts})": _spread,
}
"""Ways to divide a total into parts: sizes by total and number of parts."""


def rule_text(rule: str, total: str, parts: str) -> str:
    """A rule in words."""
    return rule.format(total=total, parts=parts, rest=f"{total} mod {parts}")


def units(column: Column) -> list[int]:
    """Sizes of which the values may be multiples: what they have in common, and its parts."""
    common = gcd(*(value for values in column.values() for value in values))
    steps = {max(values) - min(values) for values in column.values()} - {0}
    found = [
        unit for unit in sorted(steps | {common, 1}, reverse=True) if unit and common % unit == 0
    ]
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Division:
    """A total in units, divided into parts by a rule."""

    rule: str
    unit: int
    total: Candidates  # units

    def sizes(self, n: int, parts: int) -> list[int]:
        """Sizes of the parts at ``n`` processes."""
        total = whole_at(self.total, n, "a total")
        return [self.unit * size for size in RULES[self.rule](total, parts)]

    def text(self, parts: str) -> str:
        """What is divided and how."""
        unit = "" if self.unit == 1 else f"{self.unit} * "
        total = str(self.total[0])
        return f"{unit}block of {total} in {parts} parts ({rule_text(self.rule, total, parts)})"


def divisions(column: Column) -> list[Division]:
    """Every way to divide a total that gives these sizes of parts."""
    found = []
    for unit in units(column):
        totals = {n: Fraction(sum(values), unit) for n, values in column.items()}
        total = candidates(totals)
        if not total:
            continue
        for rule, sizes in RULES.items():
            if all(
                totals[n].denominator == 1
                and [unit * size for size in sizes(totals[n].numerator, len(values))]
                == list(values)
                for n, values in column.items()
            ):
                found.append(Division(rule, unit, total))
    return found


def agreed(found: Sequence[Division], n: int, parts: int) -> list[int]:
    """Sizes that all divisions give.

    Raises:
        NoFunctionError: they differ: the traced runs do not tell which one it is.
    """
    sizes: dict[tuple[int, ...], Division] = {}
    for division in found:
        sizes.setdefault(tuple(division.sizes(n, parts)), division)
    if len(sizes) > 1:
        told = " or ".join(division.text(str(parts)) for division in sizes.values())
        raise NoFunctionError(
            f"the traced runs do not tell how {parts} parts are made: {told}. Trace an np that does not divide evenly"
        )
    return list(next(iter(sizes)))
