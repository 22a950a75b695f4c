"""Statements that follow from the model alone: rows of a printed table against the model at that process count.

Reads models of some process counts; a count that is not among them is extrapolated (model.extrapolate).
"""

from __future__ import annotations

from collections.abc import Iterable

from wavetank.document import provenance
from wavetank.errors import ModelError
from wavetank.model.document.model import Model, own_levels
from wavetank.model.scaling.extrapolation import extrapolate
from wavetank.model.scaling.fitting import Fit, fit_models, mean_request
from wavetank.papers.claims import Rows, TableRow
from wavetank.papers.study import LoadedStudy, Statement, StudiedModel
from wavetank.papers.verdict import Finding, Verdict, verdict_of
from wavetank.units import format_size


class Models:
    """The models of one application, read once."""

    def __init__(self, study: LoadedStudy, named: StudiedModel) -> None:
        self.factor = named.factor
        read = [Model.read(study.path(file)) for file in named.files]
        self._by_count = {model.n_ranks: model for model in read}
        self._fit: Fit | None = None

    def at(self, n: int) -> Model:
        """The model at a process count, read or extrapolated.

        Raises:
            ModelError: no function gives it.
        """
        if n not in self._by_count:
            if self._fit is None:
                self._fit = fit_models(list(self._by_count.values()))
            self._by_count[n] = extrapolate(self._fit, n, provenance())
        return self._by_count[n]


def judge_rows(statement: Statement, claim: Rows, models: Models) -> Verdict:
    """Each printed row is what the model has at that process count."""
    findings = []
    told = []
    for row in claim.rows:
        try:
            model = models.at(row.np)
        except ModelError as error:
            findings.append(Finding(None, f"np {row.np}: {error}"))
            continue
        found, words = _row(row, model, models.factor, claim.tolerance)
        findings.append(found)
        told.append(words)
    return verdict_of(statement, findings, "; ".join(told))


def _row(row: TableRow, model: Model, factor: int, tolerance: float) -> tuple[Finding, str]:
    phases = [
        phase
        for phase in own_levels(model).phases
        if [member.iop_type for member in phase.pattern] == [row.operation]
    ]
    repetitions = {phase.ph_nrep for phase in phases}
    requests = sorted({float(factor * mean_request(phase, 0)) for phase in phases})
    words = (
        f"np {row.np}: {len(phases)} phases of {_listed(sorted(repetitions))} x {row.operation}, "
        f"{_listed([format_size(each) for each in requests])} each"
    )
    wrong = []
    if len(phases) != row.phases:
        wrong.append(f"{row.phases} phases are printed")
    if row.repetitions is not None and repetitions != {row.repetitions}:
        wrong.append(f"{row.repetitions} repetitions are printed")
    sizes = [("requests", row.request, each) for each in requests]
    if row.moved is not None:
        sizes.append(("bytes moved", row.moved, float(factor * model.app_st)))
    if row.capacity is not None:
        needed = factor * model.requirements.storage_capacity_bytes
        sizes.append(("capacity", row.capacity, float(needed)))
    for what, printed, found in sizes:
        if abs(found - printed) > tolerance * printed:
            wrong.append(f"{what} of {format_size(found)}, and {format_size(printed)} are printed")
    if wrong:
        return Finding(False, f"{words}: {', '.join(wrong)}", float(len(wrong))), words
    return Finding(True), words


def _listed(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, values))) or "none"
