"""The certificate of a variant: both kernels are counted and compared, whatever the knob says that it does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from wavetank.errors import KernelError
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.variant import ChangedPhase, CheckedFile, Variant
from wavetank.measure.mapping import rank_bytes
from wavetank.model.document.phase import Phase
from wavetank.trace.schema import Int64Array
from wavetank.variants.base import Turned
from wavetank.variants.extents import Space, calls_and_bytes, extents, moved

EQUAL = "equal"
PARTS = "each byte of it is in one part"


def certify(base: Kernel, knob: str, setting: str, turned: Turned) -> Variant:
    """Compare a variant with the kernel that it was made of.

    Args:
        base: the kernel as it is.
        knob: that was turned, for sentences.
        setting: as people write it.
        turned: the variant.

    Raises:
        KernelError: the variant does not move the same bytes, or its programs do not make all of its calls.
    """
    new = turned.kernel
    made, now = calls_and_bytes(base), calls_and_bytes(new)
    _require_complete(new, now)
    groups = _groups(base, new, turned)
    changed = [
        (old, own)
        for old, own in groups
        if own != old and [_body(phase) for phase in own] != [_body(phase) for phase in old]
    ]
    for old, own in changed:
        before, after = sum(moved(one) for one in old), sum(moved(one) for one in own)
        if before != after:
            raise KernelError(
                f"the variant {setting} moves {after} bytes where phase {old[0].ph_id} moves {before}: it is not used"
            )
    return Variant(
        setting=setting,
        knob=knob,
        before=turned.before,
        after=turned.after,
        hints=turned.hints,
        calls=sum(n for n, _ in made.values()),
        new_calls=sum(n for n, _ in now.values()),
        rank_bytes=tuple(rank_bytes(base).values()),
        phases=tuple(
            ChangedPhase(
                ph_ids=tuple(one.ph_id for one in old),
                new_ph_ids=tuple(one.ph_id for one in own),
                operations=_operations(old),
                new_operations=_operations(own),
                calls=sum(made[one.ph_id][0] for one in old),
                new_calls=sum(now[one.ph_id][0] for one in own),
                bytes=sum(moved(one) for one in old),
            )
            for old, own in changed
        ),
        files=tuple(_files(base, new, turned, setting)),
        notes=turned.notes,
    )


def _require_complete(kernel: Kernel, counted: dict[int, tuple[int, int]]) -> None:
    for phase in kernel.phases:
        wanted = phase.ph_nrep * len(phase.pattern) * len(phase.ph_processid)
        if counted[phase.ph_id][0] != wanted:
            raise KernelError(
                f"the programs of {kernel.application} make {counted[phase.ph_id][0]} calls of phase {phase.ph_id}, "
                f"which has {wanted}: no variant is made of it"
            )


def _groups(base: Kernel, new: Kernel, turned: Turned) -> list[tuple[list[Phase], list[Phase]]]:
    """Phases of the kernel as it is, one at a time, with those that the variant made of them."""
    of: dict[int, list[Phase]] = defaultdict(list)
    for phase in new.phases:
        of[turned.origins.get(phase.ph_id, phase.ph_id)].append(phase)
    return [([phase], of[phase.ph_id]) for phase in base.phases]


def _body(phase: Phase) -> Phase:
    return phase.model_copy(update={"ph_id": 0})


def _operations(phases: Sequence[Phase]) -> str:
    return "+".join(dict.fromkeys(member.iop_type for phase in phases for member in phase.pattern))


def _files(base: Kernel, new: Kernel, turned: Turned, setting: str) -> list[CheckedFile]:
    """Each file with its parts: bytes moved, and the bytes of the file that are touched."""
    parts: dict[int, list[int]] = defaultdict(list)
    for file in new.files:
        parts[turned.parts.get(file.file_id, file.file_id)].append(file.file_id)
    found = []
    for file in base.files:
        ours = [phase for phase in base.phases if phase.file_id == file.file_id]
        if not ours:
            continue
        numbers = parts[file.file_id]
        theirs = [phase for phase in new.phases if phase.file_id in numbers]
        totals = [
            tuple(sum(moved(one, reading) for one in phases) for reading in (True, False))
            for phases in (ours, theirs)
        ]
        in_parts = any(turned.parts.get(number, number) != number for number in numbers)
        if totals[0] != totals[1] or not _same_regions(base, new, ours, theirs, in_parts):
            raise KernelError(
                f"the variant {setting} does not read and write the same bytes of {file.name}: it is not used"
            )
        names = {one.file_id: one.title for one in new.files}
        used = {phase.file_id for phase in theirs}
        found.append(
            CheckedFile(
                name=file.title,
                new_names=tuple(names[number] for number in numbers if number in used),
                read_bytes=totals[0][0],
                written_bytes=totals[0][1],
                regions=PARTS if in_parts else EQUAL,
            )
        )
    return found


def _same_regions(
    base: Kernel, new: Kernel, ours: Sequence[Phase], theirs: Sequence[Phase], in_parts: bool
) -> bool:
    """Whether phases touch the same bytes of a file; of parts, as many bytes in all as the file has."""
    if not in_parts:
        same = {id(phase) for phase in ours} & {id(phase) for phase in theirs}
        ours = [phase for phase in ours if id(phase) not in same]
        theirs = [phase for phase in theirs if id(phase) not in same]
    if [_places(phase) for phase in ours] == [_places(phase) for phase in theirs]:
        return True
    left, right = extents(base, ours), extents(new, theirs)
    if in_parts:
        return _lengths(left) == _lengths(right)
    return left.keys() == right.keys() and all(
        np.array_equal(left[space], right[space]) for space in left
    )


def _places(phase: Phase) -> tuple[object, ...]:
    """What decides where a phase's calls go, and whether they read."""
    return (
        phase.file_id, phase.ph_processid, phase.ph_nrep, phase.offset, phase.offset_view, phase.view_id,
        phase.view_ids, phase.moved_last,
        tuple((member.rs, "read" in member.iop_type) for member in phase.pattern),
    )  # fmt: skip


def _lengths(found: dict[Space, Int64Array]) -> dict[bool, int]:
    """Different bytes that are read, and that are written."""
    totals: dict[bool, int] = {}
    for (_, reading, _), intervals in found.items():
        totals[reading] = totals.get(reading, 0) + int((intervals[:, 1] - intervals[:, 0]).sum())
    return totals
