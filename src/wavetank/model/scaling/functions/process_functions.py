"""Exact functions of the number of processes: what reproduces every traced value, checked by more runs than it has parameters.

Reads values by process count; leaves the functions that give each of them, in exact arithmetic on fractions. Where
several do, they must agree at the process count that is asked for: a choice between them would be a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from wavetank.errors import ModelError


class NoFunctionError(ModelError):
    """No function that wavetank knows gives the traced values, or not one alone a value at another process count."""


class NoNameError(NoFunctionError):
    """The names of files of one kind follow no function; ``kind`` as in ``behaviour.file_kind``."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


def root(n: int, degree: int) -> int | None:
    """The whole root of a whole number, if it has one."""
    found = isqrt(n) if degree == 2 else round(n ** (1 / degree))
    return found if found**degree == n else None


def _root(degree: int, name: str) -> Callable[[int], Fraction]:
    def of(n: int) -> Fraction:
        found = root(n, degree)
        if found is None:
            raise ArithmeticError(f"np is no {name}")
        return Fraction(found)

    return of


def _logarithm(n: int) -> Fraction:
    if n & (n - 1):
        raise ArithmeticError("np is no power of 2")
    return Fraction(n.bit_length() - 1)


_SQUARE_ROOT, _CUBE_ROOT = _root(2, "square"), _root(3, "cube")
_BASES: dict[str, Callable[[int], Fraction]] = {
    "np": Fraction,
    "1/np": lambda n: Fraction(1, n),
    "sqrt(np)": _SQUARE_ROOT,
    "1/sqrt(np)": lambda n: 1 / _SQUARE_ROOT(n),
    "cbrt(np)": _CUBE_ROOT,
    "1/cbrt(np)": lambda n: 1 / _CUBE_ROOT(n),
    "log2(np)": _logarithm,
    "np^2": lambda n: Fraction(n * n),
}
_TERMS = {name: "{} / " + name[2:] if name[:2] == "1/" else "{} * " + name for name in _BASES}


def number_text(value: Fraction) -> str:
    """A fraction as people write it in a formula."""
    return str(value.numerator) if value.denominator == 1 else f"({value})"


@dataclass(frozen=True)
class Function:
    """f(np) = slope * basis(np) + intercept."""

    basis: str
    slope: Fraction
    intercept: Fraction

    @property
    def n_parameters(self) -> int:
        """Numbers in it that the traced values tell."""
        return 2 if self.slope and self.intercept else 1

    def __call__(self, n: int) -> Fraction:
        """The value at ``n`` processes."""
        return (self.slope * _BASES[self.basis](n) if self.slope else 0) + self.intercept

    def __str__(self) -> str:
        """As people write it: 42448320 / np."""
        if self.slope == 0:
            return number_text(self.intercept)
        term = _TERMS[self.basis].format(number_text(self.slope)).removeprefix("1 * ")
        if self.intercept == 0:
            return term
        return f"{term} {'+' if self.intercept > 0 else '-'} {number_text(abs(self.intercept))}"


@dataclass(frozen=True)
class Quotient:
    """floor(total / np) or ceil(total / np); of the total the values tell a range only."""

    rounded: str
    low: int
    high: int
    n_parameters: int = 1

    def __call__(self, n: int) -> Fraction:
        """The value at ``n`` processes."""
        up = n - 1 if self.rounded == "ceil" else 0
        values = {(self.low + up) // n, (self.high + up) // n}
        if len(values) > 1:
            raise ArithmeticError("its total is not told exactly enough by the traced runs")
        return Fraction(values.pop())

    def __str__(self) -> str:
        """As people write it: floor(100 / np)."""
        total = str(self.low) if self.low == self.high else f"[{self.low} to {self.high}]"
        return f"{self.rounded}({total} / np)"


Candidates = tuple[Function | Quotient, ...]


MOST_PARAMETERS = 2
"""Numbers that a formula has at most."""
LEAST_CHECKS = 2
"""Runs more than a formula has parameters (Choice): among so many formulas one that a single run checks may be chance."""


def candidates(
    values: Mapping[int, Fraction | int], least_checks: int = LEAST_CHECKS
) -> Candidates:
    """The functions of the fewest parameters that give every value, and that further runs check.

    Args:
        values: by number of processes.
        least_checks: runs more than a formula has parameters; of a constant one more is enough.

    Returns:
        Constants first, then proportions to np, its roots and log2(np) and their inverses, then quotients rounded
        up or down, then lines in those. Empty where none fits.
    """
    exact = {n: Fraction(values[n]) for n in sorted(values)}
    if len(exact) < 2:
        return ()
    counts = list(exact)
    if len(set(exact.values())) == 1:
        return (Function("np", Fraction(0), exact[counts[0]]),)
    found: list[Function | Quotient] = []
    for with_intercept in (False, True):
        if len(exact) < 1 + with_intercept + least_checks:
            continue
        for basis in _BASES:
            function = _line(basis, exact, with_intercept)
            if function is not None:
                found.append(function)
        if found:
            break
        if not with_intercept:
            found += _quotients(exact)
            if found:
                break
    return tuple(found)


def _line(basis: str, values: Mapping[int, Fraction], with_intercept: bool) -> Function | None:
    try:
        points = [(_BASES[basis](n), value) for n, value in values.items()]
    except ArithmeticError:
        return None
    (x, y), (x_last, y_last) = points[0], points[-1]
    if x == x_last:
        return None
    if with_intercept:
        slope = (y_last - y) / (x_last - x)
    elif x_last == 0:
        return None
    else:
        slope = y_last / x_last
    intercept = y - slope * x
    if (not with_intercept and intercept != 0) or any(
        slope * at + intercept != value for at, value in points
    ):
        return None
    return Function(basis, slope, intercept)


def _quotients(values: Mapping[int, Fraction]) -> list[Quotient]:
    if any(value.denominator != 1 for value in values.values()):
        return []
    whole = {n: value.numerator for n, value in values.items()}
    found = []
    for rounded, down, up in (("floor", 0, 1), ("ceil", -1, 0)):
        # floor(c/n) = v: v*n <= c < (v+1)*n;  ceil(c/n) = v: (v-1)*n < c <= v*n
        low = max((value + down) * n + (rounded == "ceil") for n, value in whole.items())
        high = min((value + up) * n - (rounded == "floor") for n, value in whole.items())
        if low <= high:
            found.append(Quotient(rounded, low, high))
    return found


def value_at(found: Sequence[Function | Quotient], n: int, what: str) -> Fraction:
    """What all functions give at ``n`` processes.

    Raises:
        NoFunctionError: they differ there, or have no value.
    """
    values: dict[Fraction, str] = {}
    reasons = [] if found else [f"{what} is no function of the number of processes that is known"]
    for function in found:
        try:
            values.setdefault(function(n), str(function))
        except ArithmeticError as error:
            reasons.append(f"{what} = {function} has no value at np {n}: {error}")
    if len(values) == 1 and not reasons:
        return next(iter(values))
    if not values:
        raise NoFunctionError(reasons[0])
    told = " or ".join(f"{text} ({number_text(value)})" for value, text in values.items())
    rest = f", and {reasons[0]}" if reasons else ""
    raise NoFunctionError(
        f"{what} at np {n} would be {told}{rest}: the traced runs cannot tell them apart. Trace another process count"
    )


def whole_at(
    found: Sequence[Function | Quotient], n: int, what: str, least: int | None = None
) -> int:
    """The same as a whole number, ``least`` at least.

    Raises:
        NoFunctionError: as ``value_at``, or no such number.
    """
    value = value_at(found, n, what)
    if value.denominator != 1 or (least is not None and value < least):
        raise NoFunctionError(
            f"{what} = {found[0]} is no whole number at np {n}. Choose an np at which it is"
        )
    return value.numerator


def few_runs(n: int) -> str:
    """What to add to a message where ``n`` runs may be too few for a formula that fits."""
    if n >= MOST_PARAMETERS + LEAST_CHECKS:
        return ""
    return f". A formula is taken where {LEAST_CHECKS} runs more than it has parameters check it: trace a further run"


def values_text(values: Mapping[int, object]) -> str:
    """Values by process count in a message."""
    return ", ".join(f"{value} at np {n}" for n, value in sorted(values.items()))
