"""A model for a process count that was never traced, from the functions of ``scaling``. Marked as such."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from wavetank.document import Provenance
from wavetank.errors import ModelError
from wavetank.model.application import Model
from wavetank.model.families import expand
from wavetank.model.file import ModelFile
from wavetank.model.phase import (
    FileStep,
    LinearOffsets,
    Offsets,
    PatternMember,
    Phase,
    Program,
    RepeatStep,
    Step,
    UnknownOffsets,
)
from wavetank.model.phases import find_series
from wavetank.model.scaling import Fit, Function, fit_function
from wavetank.model.tables import ranks_text

Notes = dict[str, list[int]]


def extrapolate(fit: Fit, n: int, provenance: Provenance) -> Model:
    """The model of a run with ``n`` processes.

    What no function fits is refused where the model would be wrong without it (ranks, repetitions,
    request sizes), and said in ``warnings`` where it can be stood in for (offsets).

    Raises:
        ModelError: a field that a model cannot do without is no function of the process count, or
            its value at ``n`` is no whole number above 0.
    """
    nearest = min(fit.models, key=lambda count: (abs(count - n), count))
    base = fit.models[nearest]
    traced = ", ".join(map(str, fit.models))
    # Sentences for the user, each with the phases that it is about.
    notes: Notes = {f"extrapolated to np {n} from traces at np {traced}: never traced": []}
    numbers = {phase.ph_id: position for position, phase in enumerate(fit.phases[nearest])}
    phases = tuple(
        _phase(fit, position, nearest, n, notes) for position in range(len(fit.phases[nearest]))
    )
    new_ids = {old: phases[position].ph_id for old, position in numbers.items()}
    files = tuple(_file(fit, position, n, phases) for position in range(len(base.files)))
    own = {rank for phase in phases for rank in phase.ph_processid}
    families = {
        base.files[position].file_id: fit.families[file.file_id]
        for position, file in enumerate(fit.models[min(fit.models)].files)
        if file.file_id in fit.families
    }
    model = Model(
        provenance=provenance,
        application=base.application,
        command=base.command,
        source="extrapolated",
        n_ranks=n,
        app_np=len(own),
        app_nfiles=base.app_nfiles,
        app_st=sum(phase.ph_weight for phase in phases),
        elapsed_s=None,
        boundaries=base.boundaries,
        requirements=base.requirements.model_copy(
            update={
                "storage_capacity_bytes": sum(
                    file.file_size for file in files if file.n_operations
                ),
                "n_processes": len(own),
                "reached_read_bytes_per_s": None,
                "reached_write_bytes_per_s": None,
            }
        ),
        files=files,
        phases=phases,
        series=tuple(find_series(phases)),
        communicators=tuple(
            _ranks(
                {count: model.communicators[number] for count, model in fit.models.items()},
                n,
                f"communicator {number}",
            )
            for number in range(len(base.communicators))
        ),
        programs=_programs(fit, nearest, n, new_ids, notes),
        timeline=(),
        warnings=tuple(
            f"phases {ranks_text(sorted(set(about)))}: {text}" if about else text
            for text, about in notes.items()
        ),
    )
    expanded = expand(model, families)
    capacity = sum(file.file_size for file in expanded.files if file.n_operations)
    requirements = expanded.requirements.model_copy(update={"storage_capacity_bytes": capacity})
    series = tuple(find_series(expanded.phases))
    return expanded.model_copy(update={"requirements": requirements, "series": series})


def _value(fit: Fit, ph_id: int | None, field: str, n: int) -> int:
    function = fit.function(ph_id, field)
    if function is None:
        raise ModelError(
            f"{field} of {'the application' if ph_id is None else f'phase {ph_id}'} is no function of the number of "
            f"processes that wavetank knows, so there is no model for np {n}. Trace at np {n}, or see the table for its values"
        )
    return _whole(function, n, f"{field} of phase {ph_id}")


def _whole(function: Function, n: int, what: str, signed: bool = False) -> int:
    try:
        value = function(n)
    except ArithmeticError as error:
        raise ModelError(f"{what} = {function} has no value at np {n}: np is no square") from error
    if value.denominator != 1 or (value < 0 and not signed):
        raise ModelError(
            f"{what} = {function} is no whole number at np {n}. Choose an np at which it is"
        )
    return value.numerator


def _phase(fit: Fit, position: int, nearest: int, n: int, notes: Notes) -> Phase:
    aligned = {count: phases[position] for count, phases in fit.phases.items()}
    base = aligned[nearest]
    key = fit.phases[min(fit.phases)][
        position
    ].ph_id  # fields are named by the least model's numbers
    ranks = _ranks(
        {count: phase.ph_processid for count, phase in aligned.items()}, n, f"ranks of phase {key}"
    )
    n_rep = _value(fit, key, "ph_nrep", n)
    members, offsets = [], []
    for number, member in enumerate(base.pattern):
        suffix = f"[{number}]" if len(base.pattern) > 1 else ""
        rs = _value(fit, key, "rs" + suffix, n)
        offset = _offsets(fit, key, suffix, n)
        if offset is None:
            notes.setdefault(
                "offsets are no function of the number of processes: ranks are placed side by side, rank * rs "
                "within each repetition",
                [],
            ).append(key)
            disp = fit.function(key, "disp" + suffix)
            step = _whole(disp, n, "disp", signed=True) if disp else rs * len(ranks)
            offset = LinearOffsets(a=rs, b=0 if n_rep == 1 else step, c=_first(aligned, number, n))
        disp_value = offset.b if offset.function == "linear" and n_rep > 1 else None
        members.append(
            PatternMember(
                iop_type=member.iop_type,
                handle=member.handle,
                rs=rs,
                disp=disp_value,
                dist=member.dist,
            )
        )
        offsets.append(offset)
    if base.moved_last is not None:
        notes.setdefault(
            "the last operation is short in the traces; here it is a full one", []
        ).append(key)
    return Phase(
        ph_id=position + 1,
        file_id=base.file_id,
        level=base.level,
        ph_processid=ranks,
        ph_np=len(ranks),
        ph_weight=len(ranks) * n_rep * sum(member.rs for member in members),
        ph_nrep=n_rep,
        ph_niop=n_rep * len(members),
        pattern=tuple(members),
        offset=tuple(offsets),
        collective=base.collective,
        exact=all(isinstance(offset, LinearOffsets) for offset in offsets),
        tick_first=base.tick_first,
        tick_last=base.tick_last,
        start_s=None,
        end_s=None,
        io_time_s=None,
    )


def _first(aligned: Mapping[int, Phase], member: int, n: int) -> int:
    """Least offset of a phase's ranks, as a function of the process count where it is one; else 0."""
    firsts: dict[int, int] = {}
    for count, phase in aligned.items():
        offset = phase.offset[member]
        if offset.function == "list":
            firsts[count] = min(offset.first_offsets())
        elif offset.function == "linear":
            firsts[count] = min(offset.a * rank + offset.c for rank in phase.ph_processid)
    function = fit_function(firsts) if len(firsts) == len(aligned) else None
    value = function(n) if function else Fraction(0)
    return value.numerator if value.denominator == 1 else 0


def _offsets(fit: Fit, key: int, suffix: str, n: int) -> Offsets | None:
    """The offsets' own functions, where they have some."""
    parts = [fit.function(key, part + suffix) for part in "abc"]
    if any(part is None for part in parts):
        unknown = all(
            phase.offset[0].function == "unknown"
            for phases in fit.phases.values()
            for phase in phases
            if phase.ph_id == key
        )
        return UnknownOffsets() if unknown else None
    a, b, c = (
        _whole(part, n, f"offset of phase {key}", signed=True) for part in parts if part is not None
    )
    return LinearOffsets(a=a, b=b, c=c)


def _ranks(by_count: Mapping[int, tuple[int, ...]], n: int, what: str) -> tuple[int, ...]:
    """Ranks as a range whose ends are functions of the process count."""
    steps = {_step(ranks) for ranks in by_count.values() if len(ranks) > 1}
    first = fit_function({count: ranks[0] for count, ranks in by_count.items()})
    stop = fit_function({count: ranks[-1] + 1 for count, ranks in by_count.items()})
    if len(steps) > 1 or None in steps or first is None or stop is None:
        raise ModelError(
            f"the {what} are no regular range at all process counts, so they are not known at np {n}. Trace at np {n}"
        )
    step = steps.pop() if steps else 1
    return tuple(range(_whole(first, n, what), _whole(stop, n, what), step or 1))


def _step(ranks: tuple[int, ...]) -> int | None:
    step = ranks[1] - ranks[0]
    return step if ranks == tuple(range(ranks[0], ranks[-1] + 1, step)) else None


def _file(fit: Fit, position: int, n: int, phases: tuple[Phase, ...]) -> ModelFile:
    files = {}
    for count, model in fit.models.items():
        if position >= len(model.files):
            raise ModelError(
                f"the runs use different numbers of files ({position} at np {count}): files by process cannot be extrapolated"
            )
        files[count] = model.files[position]
    base = files[min(files, key=lambda count: (abs(count - n), count))]
    own = [phase for phase in phases if phase.file_id == base.file_id]
    sizes = {
        field: fit_function({c: getattr(f, field) for c, f in files.items()})
        for field in ("file_size", "file_size_weights")
    }
    weights = sum(p.ph_weight for p in own if "write" in p.pattern[0].iop_type) or sum(
        p.ph_weight for p in own
    )
    size = _whole(sizes["file_size"], n, "file_size") if sizes["file_size"] else weights
    ranks = {rank for phase in own for rank in phase.ph_processid}
    return base.model_copy(
        update={
            "file_size": size,
            "file_size_weights": weights,
            "file_size_highest_offset": size if base.file_size_highest_offset is not None else None,
            "file_np": len(ranks) if ranks else base.file_np,
            "n_operations": sum(phase.ph_niop * phase.ph_np for phase in own),
            "n_sequential": None,
            "n_consecutive": None,
        }
    )


def _programs(
    fit: Fit, nearest: int, n: int, new_ids: Mapping[int, int], notes: Notes
) -> tuple[Program, ...]:
    merged = {count: _without_views(model.programs, notes) for count, model in fit.models.items()}
    if len({len(groups) for groups in merged.values()}) > 1:
        raise ModelError(
            "the ranks behave in different groups at different process counts: they cannot be extrapolated"
        )
    found = []
    for number, (steps, _) in enumerate(merged[nearest]):
        by_count = {count: groups[number][1] for count, groups in merged.items()}
        ranks = _ranks(by_count, n, f"ranks of program {number + 1}")
        found.append(Program(ranks=ranks, steps=_renumbered(steps, new_ids)))
    return tuple(found)


def _without_views(
    programs: tuple[Program, ...], notes: Notes
) -> list[tuple[tuple[Step, ...], tuple[int, ...]]]:
    """Steps and ranks of programs that are the same but for file views, which are left out."""
    found: dict[tuple[Step, ...], list[int]] = {}
    for program in programs:
        found.setdefault(_plain(program.steps, notes), []).extend(program.ranks)
    return [(steps, tuple(sorted(ranks))) for steps, ranks in found.items()]


def _plain(steps: tuple[Step, ...], notes: Notes) -> tuple[Step, ...]:
    plain: list[Step] = []
    for step in steps:
        if isinstance(step, RepeatStep):
            plain.append(RepeatStep(times=step.times, steps=_plain(step.steps, notes)))
        elif isinstance(step, FileStep) and (step.view_id, step.view_ids) != (None, None):
            notes.setdefault(
                "MPI file views are left out: they are known for the traced process counts only", []
            )
        else:
            plain.append(step)
    return tuple(plain)


def _renumbered(steps: tuple[Step, ...], new_ids: Mapping[int, int]) -> tuple[Step, ...]:
    """Steps with the new phases' numbers."""
    found: list[Step] = []
    for step in steps:
        if step.step == "data":
            found.append(step.model_copy(update={"ph_id": new_ids[step.ph_id]}))
        elif isinstance(step, RepeatStep):
            found.append(RepeatStep(times=step.times, steps=_renumbered(step.steps, new_ids)))
        else:
            found.append(step)
    return tuple(found)
