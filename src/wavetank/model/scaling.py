"""Fields of a model as exact functions of the number of processes.

Reads models of one application at several process counts; leaves the functions that reproduce every
traced value, and a model for a process count that was never traced. BT-IO: rs = total / np.
Arithmetic is on fractions: a function fits exactly or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from pathlib import PurePath

from wavetank.errors import ModelError
from wavetank.model.application import Model
from wavetank.model.families import Families, collapse
from wavetank.model.phase import Phase
from wavetank.model.tables import own_level


@dataclass(frozen=True)
class Function:
    """f(np) = slope * basis(np) + intercept."""

    basis: str
    slope: Fraction
    intercept: Fraction

    def __call__(self, n: int) -> Fraction:
        """The value at ``n`` processes."""
        return self.slope * _BASES[self.basis](n) + self.intercept

    def __str__(self) -> str:
        """As people write it: 42448320 / np."""
        if self.slope == 0:
            return _number(self.intercept)
        term = _TERMS[self.basis].format(_number(self.slope)).removeprefix("1 * ")
        if self.intercept == 0:
            return term
        return f"{term} {'+' if self.intercept > 0 else '-'} {_number(abs(self.intercept))}"


def _square_root(n: int) -> Fraction:
    root = isqrt(n)
    if root * root != n:
        raise ArithmeticError
    return Fraction(root)


_BASES: dict[str, Callable[[int], Fraction]] = {
    "np": Fraction,
    "1/np": lambda n: Fraction(1, n),
    "sqrt(np)": _square_root,
    "1/sqrt(np)": lambda n: 1 / _square_root(n),
}
_TERMS = {
    "np": "{} * np",
    "1/np": "{} / np",
    "sqrt(np)": "{} * sqrt(np)",
    "1/sqrt(np)": "{} / sqrt(np)",
}


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"({value})"


def fit_function(values: Mapping[int, Fraction | int]) -> Function | None:
    """The simplest function that gives every value exactly: constant, then in np, 1/np, their roots.

    Args:
        values: by number of processes; two at least, three to tell a line from chance.

    Returns:
        None where none fits, or where two values would fit anything but a constant.
    """
    counts = sorted(values)
    exact = {n: Fraction(values[n]) for n in counts}
    if len(set(exact.values())) == 1:
        return Function("np", Fraction(0), exact[counts[0]])
    for basis, of in _BASES.items():
        try:
            points = [(of(n), exact[n]) for n in counts]
        except ArithmeticError:
            continue
        slope = (points[1][1] - points[0][1]) / (points[1][0] - points[0][0])
        intercept = points[0][1] - slope * points[0][0]
        if len(counts) == 2 and intercept != 0:
            continue  # two points lie on every line: only proportion is evidence
        if all(slope * x + intercept == y for x, y in points):
            return Function(basis, slope, intercept)
    return None


@dataclass(frozen=True)
class FittedField:
    """One field of one phase (or of the application: ph_id None) over the process counts."""

    ph_id: int | None
    field: str
    values: dict[int, Fraction | None]  # None where a model has no one value
    function: Function | None


@dataclass(frozen=True)
class Fit:
    """Fields of models that go through the same phases, as functions of the number of processes."""

    models: dict[int, Model]  # with each family of files as one
    phases: dict[int, tuple[Phase, ...]]  # at the application's own level
    fields: tuple[FittedField, ...]
    families: Families  # by the file_id of the model of the fewest processes

    def function(self, ph_id: int | None, field: str) -> Function | None:
        """The function of one field, if one fits."""
        return next((f.function for f in self.fields if (f.ph_id, f.field) == (ph_id, field)), None)


def fit_models(models: Sequence[Model]) -> Fit:
    """Fit every field of models of one application.

    Raises:
        ModelError: fewer than two process counts, one twice, or phases that do not correspond.
    """
    by_count = {model.n_ranks: model for model in models}
    if len(by_count) != len(models):
        raise ModelError(
            "two of the models have the same number of processes. Give one model for each"
        )
    if len(by_count) < 2:
        raise ModelError("one model cannot be fitted. Give models of two process counts or more")
    fields = _application_fields(by_count)
    collapsed = {n: collapse(model) for n, model in sorted(by_count.items())}
    families = _common_families({n: found for n, (_, found) in collapsed.items()})
    if families or not any(found for _, found in collapsed.values()):
        by_count = {n: model for n, (model, _) in collapsed.items()}
    phases = {n: _own_phases(model) for n, model in sorted(by_count.items())}
    _check_correspond(by_count, phases)
    fields += _file_fields(by_count, families)
    first = phases[min(phases)]
    for position, phase in enumerate(first):
        aligned = {n: own[position] for n, own in phases.items()}
        fields += [_fitted(phase.ph_id, name, aligned, of) for name, of in _FIELDS.items()]
        for member in range(len(phase.pattern)):
            suffix = f"[{member}]" if len(phase.pattern) > 1 else ""
            for name, of_member in _MEMBER_FIELDS.items():
                values = {n: of_member(one, member) for n, one in aligned.items()}
                fields.append(_of_values(phase.ph_id, name + suffix, values))
    return Fit({n: by_count[n] for n in sorted(by_count)}, phases, tuple(fields), families)


def _common_families(by_count: Mapping[int, Families]) -> Families:
    """The families of the model of the fewest processes, where all models have the same."""
    least = by_count[min(by_count)]
    names = {tuple(map(str, families.values())) for families in by_count.values()}
    return least if len(names) == 1 else {}


def _file_fields(models: Mapping[int, Model], families: Families) -> list[FittedField]:
    """Size and users of each file, where all models have as many."""
    if len({len(model.files) for model in models.values()}) > 1:
        return []
    fields = []
    for position, file in enumerate(models[min(models)].files):
        path = str(families.get(file.file_id, file.file_name))
        for name in ("file_size", "file_np"):
            values = {n: getattr(model.files[position], name) for n, model in models.items()}
            fields.append(_of_values(None, f"{name} of {PurePath(path).name}", values))
    return fields


def _own_phases(model: Model) -> tuple[Phase, ...]:
    return tuple(phase for phase in model.phases if phase.level == own_level(model, phase.file_id))


def _check_correspond(models: Mapping[int, Model], phases: Mapping[int, tuple[Phase, ...]]) -> None:
    base = min(phases)
    for n, own in phases.items():
        if len(own) != len(phases[base]):
            raise ModelError(
                f"the models do not correspond: {models[base].application} at np {base} has {len(phases[base])} phases, "
                f"at np {n} it has {len(own)}. Only runs that go through the same phases can be fitted"
            )
        for a, b in zip(phases[base], own, strict=True):
            calls_a, calls_b = (" + ".join(m.iop_type for m in p.pattern) for p in (a, b))
            if calls_a != calls_b:
                raise ModelError(
                    f"the models do not correspond: phase {a.ph_id} is {calls_a} at np {base} and {calls_b} at np {n}"
                )


_FIELDS: dict[str, Callable[[Phase], int | Fraction | None]] = {
    "ph_np": lambda phase: phase.ph_np,
    "first rank": lambda phase: phase.ph_processid[0],
    "last rank": lambda phase: phase.ph_processid[-1],
    "ph_nrep": lambda phase: phase.ph_nrep,
    "ph_niop": lambda phase: phase.ph_niop,
    "ph_weight": lambda phase: phase.ph_weight,
}


def _mean_rs(phase: Phase, member: int) -> Fraction:
    """Request size; its mean where ranks differ by what does not divide."""
    offset = phase.offset[member]
    if offset.function != "list":
        return Fraction(phase.pattern[member].rs)
    return Fraction(int((offset.count * offset.rs).sum()), int(offset.count.sum()))


def _linear(part: str) -> Callable[[Phase, int], int | None]:
    def of(phase: Phase, member: int) -> int | None:
        offset = phase.offset[member]
        return getattr(offset, part) if offset.function == "linear" else None

    return of


_MEMBER_FIELDS: dict[str, Callable[[Phase, int], int | Fraction | None]] = {
    "rs": _mean_rs,
    "disp": lambda phase, member: phase.pattern[member].disp,
    "a": _linear("a"),
    "b": _linear("b"),
    "c": _linear("c"),
}


def _application_fields(models: Mapping[int, Model]) -> list[FittedField]:
    of: dict[str, Callable[[Model], int]] = {
        "app_np": lambda model: model.app_np,
        "app_nfiles": lambda model: model.app_nfiles,
        "app_st": lambda model: model.app_st,
        "storage_capacity": lambda model: model.requirements.storage_capacity_bytes,
    }
    return [
        _of_values(None, name, {n: field(model) for n, model in models.items()})
        for name, field in of.items()
    ]


def _fitted(
    ph_id: int, name: str, phases: Mapping[int, Phase], of: Callable[[Phase], int | Fraction | None]
) -> FittedField:
    return _of_values(ph_id, name, {n: of(phase) for n, phase in phases.items()})


def _of_values(
    ph_id: int | None, name: str, values: Mapping[int, int | Fraction | None]
) -> FittedField:
    known = {n: Fraction(value) for n, value in sorted(values.items()) if value is not None}
    function = fit_function(known) if len(known) == len(values) else None
    return FittedField(ph_id, name, {n: known.get(n) for n in sorted(values)}, function)
