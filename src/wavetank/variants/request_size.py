"""Request size: consecutive contiguous requests of one rank made as one."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import ClassVar

import numpy as np

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Offsets, Phase
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.units import exact_size, format_size
from wavetank.variants.base import DoesNotApplyError, Turned, size_of
from wavetank.variants.programs import changed_programs, data_steps, with_phases

_MOST = 1 << 30  # bytes of one request: the replay holds it in memory
_UNMERGED = calls.COPIES | calls.NONBLOCKING | calls.SPLIT | calls.SHARED_POINTER


class RequestSize:
    """As many requests in one as fit into a size, where nothing else comes between them."""

    name: ClassVar[str] = "request-size"
    title: ClassVar[str] = "request size"
    takes: ClassVar[str] = "a size up to 1GiB, e.g. 1MiB"

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """1 MiB: most file systems move that much at once."""
        return ("1MiB",)

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """See Knob."""
        size = size_of(self, value, _MOST)
        steps = data_steps(kernel)
        merged: dict[int, _Merged] = {}
        reasons: dict[str, list[int]] = {}
        for phase in kernel.phases:
            found = _merge(phase, steps.get(phase.ph_id, []), size)
            if isinstance(found, str):
                reasons.setdefault(found, []).append(phase.ph_id)
            else:
                merged[phase.ph_id] = found
        if not merged:
            raise DoesNotApplyError(_why(reasons, size))

        def change(step: DataStep | FileStep) -> DataStep | FileStep:
            if not isinstance(step, DataStep) or step.ph_id not in merged:
                return step
            return step.model_copy(update={"n": merged[step.ph_id].steps(step.n), "single": False})

        old = [phase for phase in kernel.phases if phase.ph_id in merged]
        programs = changed_programs(kernel.programs, change)
        new = {ph_id: one.phase for ph_id, one in merged.items()}
        return Turned(
            kernel=with_phases(kernel, new, programs),
            before=_sizes(old),
            after=_sizes([one.phase for one in merged.values()]),
            notes=_notes(kernel, merged),
        )


@dataclass(frozen=True)
class _Merged:
    """A phase with merged requests; ``by`` of them are one now, or all steps of a rank are ``n`` now."""

    phase: Phase
    by: int
    n: int | None = None

    def steps(self, n: int) -> int:
        return n // self.by if self.n is None else self.n


def _merge(phase: Phase, steps: list[tuple[DataStep, int, Program]], size: int) -> _Merged | str:
    """The phase with merged requests, or why it stays."""
    if len(phase.pattern) > 1:
        return "operations of several kinds alternate"
    name = calls.performed(phase.pattern[0].iop_type) or phase.pattern[0].iop_type
    if name in _UNMERGED:
        return f"{name} calls are not merged"
    rs, places = phase.pattern[0].rs, phase.positions[0]
    if isinstance(places, LinearOffsets) and rs and places.b == rs and phase.ph_nrep > 1:
        return _merge_linear(phase, steps, size // rs)
    if isinstance(places, ListedOffsets) and phase.offset_view is None:
        return _merge_listed(phase, places, steps, size)
    if isinstance(places, ListedOffsets):
        return "its places in a file view follow no rule"
    return "no two requests of a rank follow each other in the file"


def _merge_linear(
    phase: Phase, steps: list[tuple[DataStep, int, Program]], most: int
) -> _Merged | str:
    whole = (
        {step.n for step, times, _ in steps if times == 1}
        == {phase.ph_nrep}
        == {step.n for step, _, _ in steps}
    )
    if whole:
        by = min(most, phase.ph_nrep)
        if by < 2:
            return "its requests are as large already"
        return _whole(phase, by)
    common = gcd(*(step.n for step, _, _ in steps)) if steps else 0
    by = next((by for by in range(min(most, common), 1, -1) if common % by == 0), 1)
    if by < 2:
        return (
            "its requests are as large already"
            if most < 2
            else "between any two requests the rank does something else"
        )
    return _Merged(_larger(phase, by, phase.ph_nrep // by), by)


def _whole(phase: Phase, by: int) -> _Merged:
    """A phase that each rank does in one go: the last request may be smaller."""
    n, rest = divmod(phase.ph_nrep, by)
    larger = _larger(phase, by, n + (rest > 0))
    if not rest:
        return _Merged(larger, by)
    rs, last = phase.pattern[0].rs, _last_moved(phase)
    count = np.array([n, 1], dtype=np.int64)
    sizes = np.array([by * rs, rest * rs], dtype=np.int64)
    moved = np.array([n * by * rs, (rest - 1) * rs + last], dtype=np.int64)

    def listed(offsets: Offsets) -> ListedOffsets:
        if not isinstance(offsets, LinearOffsets):
            raise DoesNotApplyError("places in its files and in its file views are of two kinds")
        step = by * offsets.b
        return ListedOffsets.of(
            [
                RunArrays(
                    count, sizes, moved,
                    np.array([first, first + n * step], dtype=np.int64),
                    np.array([step if n > 1 else 0, 0], dtype=np.int64),
                )
                for rank in phase.ph_processid
                for first in [offsets.a * rank + offsets.c]
            ]
        )  # fmt: skip

    view = phase.offset_view
    return _Merged(
        larger.model_copy(
            update={
                "offset": (listed(phase.offset[0]),),
                "offset_view": None if view is None else (listed(view[0]),),
                "moved_last": None,
                "exact": False,
            }
        ),
        by,
        n + 1,
    )


def _larger(phase: Phase, by: int, n: int) -> Phase:
    """The phase with ``n`` requests of ``by`` old ones each."""
    member = phase.pattern[0]

    def step(disp: int | None) -> int | None:
        return None if disp is None or n < 2 else by * disp

    def places(offsets: Offsets) -> Offsets:
        if isinstance(offsets, LinearOffsets):
            return offsets.model_copy(update={"b": by * offsets.b if n > 1 else 0})
        return offsets

    last = None
    if phase.moved_last is not None:
        last = ((by - 1) * member.rs + phase.moved_last[0],)
    view = phase.offset_view
    return phase.model_copy(
        update={
            "pattern": (
                member.model_copy(
                    update={
                        "rs": by * member.rs,
                        "disp": step(member.disp),
                        "disp_view": step(member.disp_view),
                    }
                ),
            ),
            "ph_nrep": n,
            "ph_niop": n,
            "offset": (places(phase.offset[0]),),
            "offset_view": None if view is None else (places(view[0]),),
            "moved_last": last,
        }
    )


def _merge_listed(
    phase: Phase, places: ListedOffsets, steps: list[tuple[DataStep, int, Program]], size: int
) -> _Merged | str:
    if {(step.n, times) for step, times, _ in steps} != {(phase.ph_nrep, 1)}:
        return "between any two requests the rank does something else"
    ranks = [_joined(places.of_rank(n), size) for n in range(len(phase.ph_processid))]
    counts = {int(runs.count.sum()) for runs in ranks}
    if counts == {phase.ph_nrep}:
        return (
            "no two requests of a rank follow each other in the file, or they are as large already"
        )
    if len(counts) > 1:
        return "its ranks' requests would become different numbers of requests"
    (n,) = counts
    first = int(ranks[0].size[0])
    larger = phase.model_copy(
        update={
            "pattern": (phase.pattern[0].model_copy(update={"rs": first, "disp": None}),),
            "ph_nrep": n,
            "ph_niop": n,
            "offset": (ListedOffsets.of(ranks),),
            "moved_last": None,
        }
    )
    return _Merged(larger, 1, n)


def _joined(runs: RunArrays, size: int) -> RunArrays:
    """Requests that follow each other as one, up to a size; one that moved less than it asked for stays as it is."""
    found: list[tuple[int, int, int, int]] = []  # count, size, moved, offset; consecutive

    def add(offset: int, length: int) -> None:
        whole, rest = divmod(length, size)
        if whole:
            found.append((whole, size, whole * size, offset))
        if rest:
            found.append((1, rest, rest, offset + whole * size))

    start, end, requests = 0, 0, 0  # of what is being joined

    def close() -> None:
        nonlocal requests
        if requests == 1:
            found.append((1, end - start, end - start, start))  # a larger request stays whole
        elif requests:
            add(start, end - start)
        requests = 0

    columns = (runs.count, runs.size, runs.moved, runs.offset, runs.disp)
    for count, rs, moved, offset, disp in zip(*(c.tolist() for c in columns), strict=True):
        short = moved < count * rs
        full = count - short
        is_stream = disp == rs or full == 1
        for each in range(1 if is_stream else full):
            n = full if is_stream else 1
            at = offset + each * disp
            if not n:
                continue
            if requests and at == end and rs <= size:
                end, requests = at + n * rs, requests + n
                continue
            close()
            if rs > size or rs == 0:
                found.extend([(1, rs, rs, at + k * disp) for k in range(n)])
                continue
            start, end, requests = at, at + n * rs, n
        if short:
            close()
            found.append((1, rs, moved - full * rs, offset + full * disp))
    close()
    array = np.array(found, dtype=np.int64).reshape(-1, 4)
    count, sizes, all_moved, offsets = (np.ascontiguousarray(array[:, n]) for n in range(4))
    return RunArrays(count, sizes, all_moved, offsets, np.where(count > 1, sizes, 0))


def _last_moved(phase: Phase) -> int:
    return phase.pattern[0].rs if phase.moved_last is None else phase.moved_last[0]


def _sizes(phases: list[Phase]) -> str:
    """The request size of phases: what all have but the last one of a rank, else the mean."""
    sizes = {phase.pattern[0].rs for phase in phases}
    listed = [places for phase in phases if isinstance(places := phase.positions[0], ListedOffsets)]
    for places in listed:
        repeated = places.rs[places.count > 1]
        sizes.update((repeated if len(repeated) else places.rs).tolist())
    if len(sizes) == 1:
        return exact_size(sizes.pop())
    asked = sum(phase.ph_weight for phase in phases)
    calls_made = sum(phase.ph_nrep * phase.ph_np for phase in phases)
    return f"{format_size(asked / calls_made)} (mean)"


def _why(reasons: dict[str, list[int]], size: int) -> str:
    if not reasons:
        return "it moves no data"
    kinds = list(reasons)
    if len(kinds) == 1:
        return f"no requests can be merged to {exact_size(size)}: {kinds[0]}"
    parts = [f"{reason} ({_numbered(ph_ids)})" for reason, ph_ids in reasons.items()]
    return f"no requests can be merged to {exact_size(size)}: {'; '.join(parts)}"


def _numbered(ph_ids: list[int]) -> str:
    if len(ph_ids) == 1:
        return f"phase {ph_ids[0]}"
    return f"{len(ph_ids)} phases from {ph_ids[0]} to {ph_ids[-1]}"


def _notes(kernel: Kernel, merged: dict[int, _Merged]) -> tuple[str, ...]:
    seeks = sum(
        step.null_seeks * times * len(program.ranks)
        for ph_id, of_phase in data_steps(kernel).items()
        if ph_id in merged
        for step, times, program in of_phase
    )
    if not seeks:
        return ()
    return (
        f"The {seeks:,} seeks that move nothing among these requests stay, as the application may make them for itself.",
    )
