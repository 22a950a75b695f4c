"""A kernel as tables: what its replay performs, its files, what it does not reproduce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.kernel.document.kernel import Kernel, KernelFile
from wavetank.model.document.name_shapes import name_shape, where_they_differ
from wavetank.model.document.phase import Phase
from wavetank.model.tables.phase_table import operations_text, sizes_text
from wavetank.notes import texts
from wavetank.tables.table import Cell, Column, Definition, Table, sentences
from wavetank.units import format_size


@dataclass(frozen=True)
class _File:
    """One file, or for people several alike."""

    title: str
    file: KernelFile


_ALIKE = 16  # files that differ in numbers only, from which on people are shown one line for them

REPLAY: Definition[tuple[str, Phase]] = Definition(
    "replay",
    "Replay",
    (
        Column("phase", "Phase", lambda i: i[1].ph_id, kind="integer"),
        Column("file", "File", lambda i: i[0]),
        Column("operations", "Operations", lambda i: operations_text(i[1])),
        Column("ranks", "Ranks", lambda i: i[1].ph_np, kind="integer"),
        Column("repetitions", "Repetitions", lambda i: i[1].ph_nrep, kind="integer"),
        Column("request_bytes", "Request size", lambda i: Cell(sizes_text(i[1]), [member.rs for member in i[1].pattern]),
               kind="list", help="of each operation of the pattern, bytes"),
        Column("weight_bytes", "Weight", lambda i: i[1].ph_weight, unit="B"),
    ),
    command="kernel",
)  # fmt: skip

FILES: Definition[_File] = Definition(
    "kernel-files",
    "Files",
    (
        Column("file_id", "Id", lambda i: i.file.file_id, kind="integer", machine=True),
        Column("name", "Name", lambda i: i.title),
        Column("role", "Role", lambda i: i.file.role),
        Column("prepare_bytes", "Made beforehand", lambda i: i.file.prepare_bytes, unit="B"),
    ),
    key="files",
)

NOT_BY_REPLAY = sentences("not-reproduced-by-the-replay", "Not reproduced by the replay", command="kernel")  # fmt: skip

NOT_REPRODUCED: Definition[tuple[str, str]] = Definition(
    "not-reproduced",
    "Not reproduced",
    (
        Column("kernel", "Kernel", lambda i: i[0], wide=True),
        Column("what", "What", lambda i: i[1], wide=True),
    ),
    command="summary",
)

DEFINITIONS = (REPLAY, FILES, NOT_BY_REPLAY, NOT_REPRODUCED)


def replay_table(kernel: Kernel) -> Table:
    """What the replay performs, phase by phase."""
    names = {file.file_id: file.name for file in kernel.files}
    exact = "exact" if not kernel.notes else "with the differences below"
    if kernel.approximation is not None:
        exact = "approximate, with the differences below"
    whence = (
        "" if kernel.extrapolation is None else f" Its model is {kernel.extrapolation.sentence()}."
    )
    return REPLAY.table(
        [(names[phase.file_id], phase) for phase in kernel.phases],
        caption=f"{kernel.application}: {kernel.n_ranks} ranks, {exact}; needs {format_size(kernel.capacity_bytes)}.{whence}",
    )


def file_table(kernel: Kernel) -> Table:
    """The kernel's files; for people one line for many whose names differ in numbers only."""
    return FILES.table(
        [_File(file.title, file) for file in kernel.files], people=_for_people(kernel.files)
    )


def _for_people(files: Sequence[KernelFile]) -> list[_File]:
    """A line for each file; one for many whose names differ in numbers only, and that are the same for the rest."""
    groups: dict[tuple[object, ...], list[KernelFile]] = {}
    for file in files:
        own = file.file_id if file.members is not None else None
        key = (name_shape(file.name), file.role, file.prepare_bytes, file.directory, own)
        groups.setdefault(key, []).append(file)
    shown = []
    for alike in groups.values():
        if len(alike) >= _ALIKE:
            what = "directories" if alike[0].directory else "files"
            pattern = where_they_differ([file.name for file in alike])
            shown.append(_File(f"{pattern} ({len(alike):,} {what})", alike[0]))
        else:
            shown += [_File(file.title, file) for file in alike]
    return shown


def omission_table(kernel: Kernel) -> Table:
    """What the replay and each of IOR's lines leave out."""
    notes = [("replay", text) for text in texts(kernel.notes)]
    notes += [(line.command, text) for line in kernel.ior for text in texts(line.not_reproduced)]
    notes += [("IOR refused", refused.reason) for refused in kernel.ior_refused]
    return NOT_REPRODUCED.table(notes)
