"""What a kernel's ranks do, byte by byte: written for tests, with no part of the code that makes variants."""

from __future__ import annotations

from collections import Counter

from wavetank.model.document.phase import LinearOffsets
from wavetank.model.document.program import DataStep, IrregularOrderStep, RepeatStep


def operations(phase, rank):
    """All operations of a rank in a phase, in order: (call, first byte, bytes asked for, bytes moved), in the view if there is one."""
    places = phase.offset_view or phase.offset
    columns = []
    for index, member in enumerate(phase.pattern):
        ours = []
        if isinstance(places[index], LinearOffsets):
            of = places[index]
            for n in range(phase.ph_nrep):
                last = n == phase.ph_nrep - 1 and phase.moved_last is not None
                moved = phase.moved_last[index] if last else member.rs
                ours.append((member.iop_type, of.a * rank + of.b * n + of.c, member.rs, moved))
        else:
            for run in places[index].runs[phase.ph_processid.index(rank)]:
                for n in range(run.count):
                    last = run.moved - (run.count - 1) * run.rs
                    moved = last if n == run.count - 1 else run.rs
                    ours.append((member.iop_type, run.offset + n * run.disp, run.rs, moved))
        columns.append(ours)
    return [one for together in zip(*columns, strict=True) for one in together]


def view_of(phase, rank):
    if phase.view_ids is not None:
        return phase.view_ids[phase.ph_processid.index(rank)]
    return phase.view_id


def performed(kernel):
    """Rank -> its data operations in the order of its program: (file, view, call, first byte, asked, moved)."""
    phases = {phase.ph_id: phase for phase in kernel.phases}
    found = {}
    for program in kernel.programs:
        for rank in program.ranks:
            left = {
                ph_id: iter(operations(phase, rank))
                for ph_id, phase in phases.items()
                if rank in phase.ph_processid
            }
            found[rank] = [
                (phases[ph_id].file_id, view_of(phases[ph_id], rank), *next(left[ph_id]))
                for ph_id in _calls(program.steps, phases)
            ]
            assert all(next(rest, None) is None for rest in left.values()), "calls are left over"
    return found


def _calls(steps, phases):
    for step in steps:
        if isinstance(step, RepeatStep):
            for _ in range(step.times):
                yield from _calls(step.steps, phases)
        elif isinstance(step, IrregularOrderStep):
            yield from _calls(tuple(step.each()), phases)
        elif isinstance(step, DataStep):
            n = step.n if step.single else step.n * len(phases[step.ph_id].pattern)
            yield from [step.ph_id] * n


def bytes_in_order(kernel):
    """Rank -> each byte that it moves, in order: (file, view, read, position)."""
    return {
        rank: [
            (file_id, view, "read" in call, position)
            for file_id, view, call, first, _, moved in ours
            for position in range(first, first + moved)
        ]
        for rank, ours in performed(kernel).items()
    }


def bytes_touched(kernel):
    """How often each byte of each file is read, and written, by any rank."""
    return Counter(
        (file_id, view, reading, position)
        for ours in bytes_in_order(kernel).values()
        for file_id, view, reading, position in ours
    )


def places_in_file(kernel, rank):
    """The bytes of the file that a rank moves, in order: (file, read, position in the file, through its view)."""
    found = []
    for file_id, view, reading, position in bytes_in_order(kernel)[rank]:
        found.append(
            (file_id, reading, position if view is None else in_file(kernel.views[view], position))
        )
    return found


def in_file(view, position):
    """Where a byte of a view is in its file."""
    tile, rest = divmod(position, sum(view.run_lengths))
    for offset, length in zip(view.run_offsets, view.run_lengths, strict=True):
        if rest < length:
            return view.displacement + tile * view.extent + offset + rest
        rest -= length
    raise AssertionError
