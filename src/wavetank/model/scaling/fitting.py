"""Fields of a model as exact functions of the number of processes.

Reads models of one application at several process counts; leaves the functions that reproduce every
traced value. BT-IO: rs = total / np. Arithmetic is on fractions: a function fits exactly or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import PurePath

from wavetank.errors import ModelError
from wavetank.model.document.extrapolation import NotExtrapolated
from wavetank.model.document.model import Model, own_phases
from wavetank.model.document.phase import Phase
from wavetank.model.events.program_name import common_name
from wavetank.model.scaling.functions.process_functions import (
    Candidates,
    Function,
    NoFunctionError,
    Quotient,
    candidates,
    values_text,
)
from wavetank.model.scaling.name_functions import Families, collapse
from wavetank.model.scaling.rank_group import Grouped
from wavetank.model.scaling.rank_groups import group_models
from wavetank.notes import of_kinds


@dataclass(frozen=True)
class FittedValue:
    """One field of one phase (or of the application: ph_id None) over the process counts."""

    ph_id: int | None
    field: str
    values: dict[int, Fraction | None]  # None where a model has no one value
    functions: Candidates  # all that fit with as few parameters
    unsure: Candidates = ()  # those that one run alone checks, where no others fit

    @property
    def function(self) -> Function | Quotient | None:
        """The first that fits."""
        return self.functions[0] if self.functions else None

    @property
    def n_checks(self) -> int | None:
        """Runs more than the function has parameters."""
        return len(self.values) - self.functions[0].n_parameters if self.functions else None


@dataclass(frozen=True)
class Fit:
    """Fields of models that go through the same phases, as functions of the number of processes."""

    models: dict[int, Model]  # as they were given, by process count
    fields: tuple[FittedValue, ...]
    families: Families  # by the file_id of the model of the fewest processes
    why_not: str | None  # why phases do not correspond, so that no field of theirs is there
    grouped: Grouped | NoFunctionError  # what the ranks do, or why that is no function of np
    checked: dict[int, tuple[NotExtrapolated, ...]] = field(
        default_factory=dict, compare=False
    )  # by process count, where the functions do not reproduce the traced run

    def function(self, ph_id: int | None, name: str) -> Function | Quotient | None:
        """The function of one field, if one fits."""
        return next((f.function for f in self.fields if (f.ph_id, f.field) == (ph_id, name)), None)


def fit_models(models: Sequence[Model]) -> Fit:
    """Fit every field of models of one application.

    Raises:
        ModelError: fewer than two process counts, one twice, or phases that do not correspond.
    """
    by_count = {model.n_ranks: model for model in sorted(models, key=lambda one: one.n_ranks)}
    _require_comparable(models, by_count)
    fields = _application_fields(by_count)
    collapsed = {n: collapse(model) for n, model in by_count.items()}
    families = _common_families({n: found for n, (_, found) in collapsed.items()})
    alike = by_count
    if families or not any(found for _, found in collapsed.values()):
        alike = {n: model for n, (model, _) in collapsed.items()}
    phases = {n: own_phases(model) for n, model in alike.items()}
    why_not = _difference(alike, phases)
    fields += _file_fields(alike, families)
    if why_not is None:
        fields += _phase_fields(phases)
    grouped: Grouped | NoFunctionError
    try:
        grouped = group_models(by_count)
    except NoFunctionError as error:
        grouped = error
        if why_not is not None:
            raise ModelError(f"{why_not}; {error}") from error
    return Fit(by_count, tuple(fields), families, why_not, grouped)


def _require_comparable(models: Sequence[Model], by_count: Mapping[int, Model]) -> None:
    """Runs of one program, whole, by the same rules, at different process counts."""
    if len(by_count) != len(models):
        counts = Counter(model.n_ranks for model in models)
        twice = ", ".join(str(n) for n, times in sorted(counts.items()) if times > 1)
        raise ModelError(
            f"two of the models have the same number of processes (np {twice}). Give one model for each"
        )
    if len(by_count) < 2:
        raise ModelError("one model cannot be fitted. Give models of two process counts or more")
    named = {n: model.application for n, model in by_count.items()}
    if len(set(named.values())) > 1:
        common = common_name(list(named.values()))
        raise ModelError(
            f"the models are of different programs ({values_text(named)}). Give runs of one program"
            if common is None
            else f"the models' programs have different names ({values_text(named)}). If they are one program, "
            f"say what to call it: --name {common}"
        )
    for n, model in by_count.items():
        if model.extrapolation is not None or model.source == "extrapolated":
            raise ModelError(
                f"the model for np {n} is extrapolated itself. Give models of traced runs"
            )
        if model.approximation is not None:
            raise ModelError(
                f"the model for np {n} is {model.approximation.sentence()}; functions would be of what is assumed. Give models "
                "of traced runs"
            )
        if cut := of_kinds(model.notes, "lost", "unfinished"):
            raise ModelError(
                f"the run at np {n} is not whole: {cut[0]}. Trace it again, to its end"
            )
    several = next((f for m in by_count.values() for f in m.files if f.members is not None), None)
    if several is not None:
        raise ModelError(
            f"{several.title()} are one file with members, which follow no function yet. Make the models with "
            "wavetank model --each-file"
        )
    rules = {n: model.boundaries.model_dump_json() for n, model in by_count.items()}
    if len(set(rules.values())) > 1:
        raise ModelError(
            f"the models are made by different rules for the boundaries of phases ({values_text(rules)}). Make them with "
            "the same options of 'wavetank model'"
        )
    if len({model.thresholds for model in by_count.values()}) > 1:
        raise ModelError(
            "the models are made by different thresholds. Make them with one version of 'wavetank model'"
        )
    levels = {
        n: " and ".join(sorted({phase.level for phase in own_phases(model)})) or "no level"
        for n, model in by_count.items()
    }
    if len(set(levels.values())) > 1:
        raise ModelError(
            f"the models describe the runs at different levels ({values_text(levels)}). Make them with the same --level"
        )


def _phase_fields(phases: Mapping[int, tuple[Phase, ...]]) -> list[FittedValue]:
    fields = []
    for position, phase in enumerate(phases[min(phases)]):
        aligned = {n: own[position] for n, own in phases.items()}
        fields += [_fitted(phase.ph_id, name, aligned, of) for name, of in _FIELDS.items()]
        for member in range(len(phase.pattern)):
            suffix = f"[{member}]" if len(phase.pattern) > 1 else ""
            for name, of_member in _MEMBER_FIELDS.items():
                values = {n: of_member(one, member) for n, one in aligned.items()}
                fields.append(_of_values(phase.ph_id, name + suffix, values))
    return fields


def _common_families(by_count: Mapping[int, Families]) -> Families:
    """The families of the model of the fewest processes, where all models have the same."""
    least = by_count[min(by_count)]
    names = {tuple(map(str, families.values())) for families in by_count.values()}
    return least if len(names) == 1 else {}


def _file_fields(models: Mapping[int, Model], families: Families) -> list[FittedValue]:
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


def _difference(models: Mapping[int, Model], phases: Mapping[int, tuple[Phase, ...]]) -> str | None:
    """Why the phases of the models do not correspond one to one; None if they do."""
    base = min(phases)
    for n, own in phases.items():
        if len(own) != len(phases[base]):
            return (
                f"the models do not correspond: {models[base].application} at np {base} has {len(phases[base])} phases, "
                f"at np {n} it has {len(own)}"
            )
        for a, b in zip(phases[base], own, strict=True):
            calls_a, calls_b = (" + ".join(m.iop_type for m in p.pattern) for p in (a, b))
            if calls_a != calls_b:
                return f"the models do not correspond: phase {a.ph_id} is {calls_a} at np {base} and {calls_b} at np {n}"
    return None


_FIELDS: dict[str, Callable[[Phase], int | Fraction | None]] = {
    "ph_np": lambda phase: phase.ph_np,
    "first rank": lambda phase: phase.ph_processid[0],
    "last rank": lambda phase: phase.ph_processid[-1],
    "ph_nrep": lambda phase: phase.ph_nrep,
    "ph_niop": lambda phase: phase.ph_niop,
    "ph_weight": lambda phase: phase.ph_weight,
}


def mean_request(phase: Phase, member: int) -> Fraction:
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
    "rs": mean_request,
    "disp": lambda phase, member: phase.pattern[member].disp,
    "a": _linear("a"),
    "b": _linear("b"),
    "c": _linear("c"),
}


def _application_fields(models: Mapping[int, Model]) -> list[FittedValue]:
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
) -> FittedValue:
    return _of_values(ph_id, name, {n: of(phase) for n, phase in phases.items()})


def _of_values(
    ph_id: int | None, name: str, values: Mapping[int, int | Fraction | None]
) -> FittedValue:
    known = {n: Fraction(value) for n, value in sorted(values.items()) if value is not None}
    functions = candidates(known) if len(known) == len(values) else ()
    unsure = candidates(known, least_checks=1) if len(known) == len(values) else ()
    return FittedValue(
        ph_id,
        name,
        {n: known.get(n) for n in sorted(values)},
        functions,
        () if functions else unsure,
    )
