"""A model for a process count that was never traced, from the functions of ``rank_groups``. Marked as such.

What every rank would do is put together as a trace, and the model extracted from it by the rules of the traced models.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wavetank.document import Provenance
from wavetank.errors import ModelError
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.extrapolation import Extrapolation, FittedField, NotExtrapolated
from wavetank.model.document.model import Model, own_levels
from wavetank.model.document.phase import PatternMember, Phase
from wavetank.model.extract import extract_model
from wavetank.model.rules import LEVELS, Rules
from wavetank.model.scaling.behaviour import file_kind
from wavetank.model.scaling.fitting import Fit
from wavetank.model.scaling.functions.process_functions import NoFunctionError, candidates, whole_at
from wavetank.model.scaling.rank_group import Group, Grouped, ranks_of
from wavetank.model.scaling.synthetic_trace import synthesise
from wavetank.notes import Note, about, note, notes_of, of_kinds
from wavetank.tables.words import listed, phases_text

_NAMED = 3
"""Kinds of files that a sentence names; of more it says how many."""


def extrapolate(fit: Fit, n: int, provenance: Provenance) -> Model:
    """The model of a run with ``n`` processes.

    Phases whose offsets or file views no function gives are there with their sizes and unknown offsets, and say
    why; what is not known in number or size is left out. ``extrapolation`` lists both.

    Raises:
        ModelError: the ranks' groups, or all that they do, follow no function, or one has no value at ``n``.
    """
    grouped = fit.grouped
    if isinstance(grouped, NoFunctionError):
        raise grouped
    made = _made(fit, grouped, n, provenance)
    wrong = _not_given_back(fit, grouped, provenance)
    missing = (*made.missing, *wrong)
    model = made.model
    extrapolation = Extrapolation(
        n_ranks=n,
        traced_np=tuple(fit.models),
        n_checks=min((field.n_checks for field in made.fields), default=0),
        fields=made.fields,
        not_extrapolated=missing,
    )
    checks = extrapolation.n_checks
    said = [
        extrapolation.sentence(),
        f"every function of np is checked by {checks} traced run{'s' if checks > 1 else ''} at least beyond those that "
        "tell its parameters",
        *(f"{_where(one)}: not extrapolated: {one.reason}" for one in missing),
        *dict.fromkeys(note for group in grouped.groups for note in group.notes),
        *_unknown_sizes(grouped.groups),
    ]
    notes = (
        *notes_of("inferred", "functions", said),
        *(each for count, traced in fit.models.items() for each in _of_run(count, traced)),
    )
    return model.model_copy(update={"extrapolation": extrapolation, "notes": notes})


def _of_run(count: int, traced: Model) -> tuple[Note, ...]:
    """What the model of a traced run says that is true of extrapolated ones too."""
    notes = of_kinds(traced.notes, "unrecorded", "library")
    if with_gaps := [phase.ph_id for phase in traced.phases if phase.memory is not None]:
        text = (
            f"{phases_text(with_gaps)}: the gaps in the application's memory are not extrapolated, so that the MPI library may "
            "make other calls below these"
        )
        notes += (note("library", "memory", text),)
    return about(f"in the traced run of {count} processes", notes)


def _without_memory(model: Model) -> Model:
    phases = tuple(
        phase if phase.memory is None else phase.model_copy(update={"memory": None})
        for phase in model.phases
    )
    return model.model_copy(update={"phases": phases})


def _unknown_sizes(groups: Sequence[Group]) -> Iterable[str]:
    """A sentence for each reason why sizes of files before the run are not known."""
    kinds: dict[str, dict[str, None]] = defaultdict(dict)
    for group in groups:
        for kind, reason in group.unknown_sizes.items():
            kinds[reason][kind] = None
    for reason, names in kinds.items():
        yield f"the size of {listed(list(names), _NAMED)} before the run is not extrapolated: {reason}"


def _where(one: NotExtrapolated) -> str:
    numbers = ", ".join(map(str, one.ph_ids))
    return f"phase{'s' if len(one.ph_ids) > 1 else ''} {numbers}" if one.ph_ids else one.what


@dataclass(frozen=True)
class _Made:
    model: Model
    fields: tuple[FittedField, ...]
    missing: tuple[NotExtrapolated, ...]


def _made(fit: Fit, grouped: Grouped, n: int, provenance: Provenance) -> _Made:
    base = fit.models[max(fit.models)]
    trace = synthesise(grouped.groups, n, grouped.folder, base.boundaries, base.command)
    if not len(trace.folds):
        raise ModelError(_nothing(grouped))
    try:
        model = extract_model(trace, provenance, _rules(base), name=base.application)
    except ModelError as error:
        raise ModelError(_nothing(grouped)) from error
    marker = _Marker(fit, grouped, n, model)
    phases = tuple(marker.marked(phase) for phase in model.phases)
    model = model.model_copy(update={"phases": phases, "boundaries": base.boundaries, "notes": ()})
    fields = tuple(
        FittedField(
            ranks=group.members_text, ph_id=ph_id, field=name, function=text, n_checks=checks
        )
        for group in grouped.groups
        for ph_id, name, text, checks in _fields(group)
    )
    return _Made(model, fields, tuple(marker.missing()))


def _fields(group: Group) -> Iterable[tuple[int | None, str, str, int]]:
    for phase, name, text, checks in group.fields:
        yield None if phase is None else group.sample.phases[phase].ph_id, name, text, checks


def _nothing(grouped: Grouped) -> str:
    reasons = [
        *(f"{kind}: {reason}" for kind, reason in grouped.left_out.items()),
        *(
            f"phase {group.sample.phases[number].ph_id}: {reason}"
            for group in grouped.groups
            for number, reason in group.reasons.items()
        ),
    ]
    told = "; ".join(dict.fromkeys(reasons[:5])) or "the runs have no operations in common"
    return f"nothing of the runs' I/O is a function of the number of processes: {told}"


def _rules(base: Model) -> Rules:
    boundaries = base.boundaries
    return Rules(
        split_at_communication={
            LEVELS[name]: splits for name, splits in boundaries.split_at_communication.items()
        },
        split_at_computation_s=boundaries.split_at_computation_s,
        similarity=boundaries.similarity,
        thresholds=base.thresholds,
    )


def _not_given_back(fit: Fit, grouped: Grouped, provenance: Provenance) -> list[NotExtrapolated]:
    """What the functions make of the traced process counts must be the traced models."""
    if grouped.left_out or any(group.reasons or group.step_reasons for group in grouped.groups):
        return []  # it is not: and says why
    for n, model in fit.models.items():
        if n in fit.checked:
            continue
        again = _made(fit, grouped, n, provenance).model
        fit.checked[n] = tuple(
            NotExtrapolated(
                ph_ids=(),
                what=f"the run at np {n}",
                reason=f"the functions do not reproduce what was traced there: {first.where}, {first.field} is "
                f"{first.b} in place of {first.a}",
            )
            for first in compare_models(own_levels(_without_memory(model)), again).differences[:1]
        )
    return [one for of in fit.checked.values() for one in of]


# --- what is said of each phase -------------------------------------------------------------------


@dataclass(frozen=True)
class _Source:
    """The part of a traced phase that a rank's phase of the new model comes from."""

    group: Group
    number: int  # of the group's phases


class _Marker:
    """Says of each phase where it comes from."""

    def __init__(self, fit: Fit, grouped: Grouped, n: int, model: Model) -> None:
        self._grouped, self._n = grouped, n
        self._traced = {
            count: {phase.ph_id: phase for phase in traced.phases}
            for count, traced in fit.models.items()
        }
        self._names = {
            file.file_id: file.file_name.removeprefix(grouped.folder) for file in model.files
        }
        self._marked: dict[str, list[int]] = defaultdict(list)
        self._sources = self._find(model)

    def _find(self, model: Model) -> dict[int, _Source]:
        """For each phase its source, by its first rank: the n-th on a file at a level is the n-th."""
        of_rank: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        for phase in model.phases:
            for rank in phase.ph_processid:
                of_rank[rank, phase.level, phase.file_id].append(phase.ph_id)
        sources: dict[int, _Source] = {}
        for group, ranks in zip(
            self._grouped.groups, ranks_of(self._grouped.groups, self._n), strict=True
        ):
            for rank in ranks:
                own: dict[tuple[str, int], list[int]] = defaultdict(list)
                for key, numbers in of_rank.items():
                    if key[0] == rank:
                        own[key[1], key[2]] = numbers
                self._match(group, own, sources)
        return sources

    def _match(
        self,
        group: Group,
        own: Mapping[tuple[str, int], Sequence[int]],
        sources: dict[int, _Source],
    ) -> None:
        kinds = group.shape[1]
        assert isinstance(kinds, tuple)  # noqa: S101 - see Behaviours.of
        kept = self._kept(group)
        by_stream: dict[tuple[str, int], list[int]] = defaultdict(list)
        for number, (file, level, _, _) in enumerate(kinds):
            if number in kept:
                by_stream[level, file].append(number)
        # Streams of one rank in the order of their first phases, on both sides.
        mine = sorted(by_stream.items(), key=lambda one: one[1][0])
        theirs = sorted(own.items(), key=lambda one: one[1][0])
        for (_, numbers), (_, ph_ids) in zip(mine, theirs, strict=False):
            if len(numbers) == len(ph_ids):
                pairs = zip(numbers, ph_ids, strict=True)
            else:  # the phases of one stretch
                wrong = [number for number in numbers if number in group.reasons]
                pairs = zip(wrong[:1] * len(ph_ids), ph_ids, strict=False)
            for number, ph_id in pairs:
                sources.setdefault(ph_id, _Source(group, number))

    def marked(self, phase: Phase) -> Phase:
        """The phase with its reason, where its offsets are no function of np; without times."""
        update: dict[str, object] = {"start_s": None, "end_s": None, "io_time_s": None}
        source = self._sources.get(phase.ph_id)
        if source is not None:
            reason = source.group.reasons.get(source.number)
            if reason is not None:
                update["not_extrapolated"] = reason
                self._marked[reason].append(phase.ph_id)
            if phase.ph_nrep > 1:
                update["pattern"] = self._with_dist(phase, source)
        return phase.model_copy(update=update)

    def _with_dist(self, phase: Phase, source: _Source) -> tuple[PatternMember, ...]:
        """The pattern with the traced distances in ticks, where they are functions of np."""
        dists: dict[int, list[tuple[int, int] | None]] = {}
        for n, ph_ids in source.group.ph_ids.items():
            traced = self._traced[n][ph_ids[source.number]]
            if len(traced.pattern) != len(phase.pattern):
                return phase.pattern
            dists[n] = [member.dist for member in traced.pattern]
        made = []
        for number, member in enumerate(phase.pattern):
            known = [(n, dist) for n, of in dists.items() if (dist := of[number]) is not None]
            parts = [candidates({n: dist[part] for n, dist in known}) for part in (0, 1)]
            try:
                ticks, subticks = (whole_at(part, self._n, "dist", least=0) for part in parts)
                made.append(member.model_copy(update={"dist": (ticks, subticks)}))
            except NoFunctionError:
                made.append(member.model_copy(update={"dist": None}))
        return tuple(made)

    def missing(self) -> Iterable[NotExtrapolated]:
        """All that is not extrapolated; after ``marked`` was asked for all phases."""
        for reason, ph_ids in self._marked.items():
            yield NotExtrapolated(ph_ids=tuple(ph_ids), what="places in the file", reason=reason)
        for kind, reason in self._grouped.left_out.items():
            yield NotExtrapolated(ph_ids=(), what=f"the I/O on {kind}", reason=reason)
        dropped: dict[tuple[str, str], list[int]] = defaultdict(list)
        for group in self._grouped.groups:
            kinds = group.shape[1]
            assert isinstance(kinds, tuple)  # noqa: S101 - see Behaviours.of
            for number in self._dropped(group):
                calls = " + ".join(name for name, _ in kinds[number][2])
                kind = file_kind(group.sample.names[kinds[number][0]])
                reason = group.reasons.get(number, "its sizes follow no function")
                dropped[f"{calls} on {kind}", reason].append(group.sample.phases[number].ph_id)
            if not any(group.reasons.values()):
                for reason in dict.fromkeys(group.step_reasons):
                    yield NotExtrapolated(ph_ids=(), what="calls that move no data", reason=reason)
        for (what, reason), numbers in dropped.items():
            text = f"{what} ({phases_text(sorted(set(numbers)))} of the largest run)"
            yield NotExtrapolated(ph_ids=(), what=text, reason=reason)

    def _dropped(self, group: Group) -> list[int]:
        """Phases that are not in the model at all: the steps that do them, or their sizes, are not known."""
        return [number for number in range(len(group.phases)) if number not in self._kept(group)]

    def _kept(self, group: Group) -> set[int]:
        steps = {
            label.phase
            for label, function in zip(group.labels, group.numbers, strict=True)
            if function is None
        }
        return {
            number
            for number, members in enumerate(group.phases)
            if number not in steps and all(member is not None for member in members)
        }
