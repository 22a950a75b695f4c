"""Whatever is changed in a kernel: if the replay would do anything else, its certificate says so.

Every number, word and list of a kernel is changed in turn. A changed kernel is refused, or leads to the same plan,
or is not exact.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Any

import kernel_models as km
import pytest
from pydantic import ValidationError

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.operations import normal
from wavetank.kernel.fidelity import certificate
from wavetank.kernel.fidelity.certificate import (
    PhaseFidelity,
    fio_fidelity,
    ior_fidelity,
    replay_fidelity,
)
from wavetank.kernel.lowering.plan_reader import PlannedRun, read_plan
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.model import Model, View
from wavetank.model.document.phase import ListedOffsets
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    PauseStep,
    ProcessStep,
    Program,
    Step,
    SyncStep,
)
from wavetank.model.document.step_walks import plain_steps


def names_and_processes() -> Model:
    """A program that writes, renames, pauses, and starts another one that reads by an irregular list."""
    writes = km.phase(1, 1, (0,), 3, [km.member("write", 10, 10)], [km.linear(b=10)])
    reads = km.phase(
        2, 2, (1,), 3, [km.member("pread", 10)],
        [ListedOffsets(n_runs=[3], count=1, rs=10, offset=[0, 20, 5], disp=0)],
    )  # fmt: skip
    parent = Program(
        ranks=(0,),
        steps=(
            FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_CREAT | km.O_WRONLY),
            DataStep(ph_id=1, n=2),
            PauseStep(seconds=0.5),
            DataStep(ph_id=1, n=1),
            FileStep(iop_type="write", file_id=1, handle=0, size=0, offset=30),
            FileStep(iop_type="fsync", file_id=1, handle=0),
            FileStep(iop_type="close", file_id=1, handle=0),
            FileStep(iop_type="rename", file_id=1, handle=-1),
            FileStep(iop_type="rename", file_id=2, handle=-1, new_name=True),
            ProcessStep(rank=1, event="begins"),
            ProcessStep(rank=1, event="ended"),
            FileStep(iop_type="unlink", file_id=2, handle=-1),
        ),
    )
    child = Program(
        ranks=(1,),
        steps=(
            FileStep(iop_type="open", file_id=2, handle=0),
            DataStep(ph_id=2, n=3),
            FileStep(iop_type="close", file_id=2, handle=0),
        ),
    )
    files = [km.model_file(1, "/run/new", 30), km.model_file(2, "/run/old", 30)]
    return km.model(2, files, [writes, reads], [parent, child])


def with_hints() -> Model:
    model = km.btio(steps=2, n_ranks=2)
    (first, *others) = model.programs
    steps = tuple(
        step.model_copy(update={"info_id": 0})
        if isinstance(step, FileStep) and step.iop_type == "MPI_File_open"
        else step
        for step in first.steps
    )
    programs = (first.model_copy(update={"steps": steps}), *others)
    return model.model_copy(
        update={"infos": ((("cb_nodes", "1"), ("romio_cb_write", "enable")),), "programs": programs}
    )


def with_memory() -> Model:
    """Both ranks' memory has gaps, each other ones; that of the last phase's rank 0 has none."""
    model = km.btio(steps=2, n_ranks=2)
    n = len(model.views)
    tiles = [
        View(displacement=0, etype_size=1, extent=gap + 8, run_offsets=(0, gap), run_lengths=(8, 8))
        for gap in (16, 32)
    ]
    *others, last = model.phases
    phases = [
        *(phase.model_copy(update={"memory": ((n, n + 1),)}) for phase in others),
        last.model_copy(update={"memory": ((-1, n + 1),)}),
    ]
    return model.model_copy(update={"views": (*model.views, *tiles), "phases": tuple(phases)})


def mix() -> Model:
    """Two ranks that read, write and seek in no order, at listed places; the last read of rank 1 is short."""
    reads = km.phase(
        1, 1, (0, 1), 4, [km.member("read", 10)],
        [ListedOffsets(n_runs=[3, 2], count=[2, 1, 1, 2, 2], rs=10, offset=[0, 70, 5, 100, 40], disp=[20, 0, 0, 30, 7],
                       moved=[20, 10, 10, 20, 13])], 73,
    )  # fmt: skip
    writes = km.phase(
        2, 1, (0, 1), 2, [km.member("pwrite", 5)],
        [ListedOffsets(n_runs=[2, 2], count=1, rs=[5, 6, 5, 8], offset=[9, 300, 11, 200], disp=0)], 24,
    )  # fmt: skip
    read, write = DataStep(ph_id=1, n=1, handle=0), DataStep(ph_id=2, n=1, handle=0)
    seek = FileStep(iop_type="lseek", file_id=1, handle=0, offset=500)
    empty = FileStep(iop_type="read", file_id=1, handle=0, size=10, offset=500)
    program = Program(
        ranks=(0, 1),
        steps=(
            FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_CREAT | os.O_RDWR),
            IrregularOrderStep(steps=(read, write, seek, empty), order=[0, 2, 3, 1, 0, 0, 2, 1, 0]),
            FileStep(iop_type="close", file_id=1, handle=0),
        ),
    )
    return km.model(2, [km.model_file(1, "/run/data", 600)], [reads, writes], [program])


MODELS = {
    "mix": mix(),
    "names and processes": names_and_processes(),
    "views, communicators and hints": with_hints(),
    "memory with gaps": with_memory(),
    "abyss": km.abyss(100_000, n_ranks=3),
    "file per process": km.file_per_process(n_ranks=2),
    "read and write three times": km.read_write_three_times(),
    "irregular": km.irregular(),
}
PARTS = ("n_ranks", "phases", "views", "infos", "communicators", "programs")


def changed_values(value: Any) -> Iterator[Any]:
    """Other values in the place of one of a JSON document."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield from ("fsync", "pwrite", "MPI_File_write_at_all", "other")
    elif isinstance(value, list):
        for i in range(len(value)):
            yield [*value[:i], *value[i + 1 :]]
            yield [*value[: i + 1], *value[i:]]
        for i in range(len(value) - 1):
            yield [*value[:i], value[i + 1], value[i], *value[i + 2 :]]
    elif value is None:
        yield 1


def mutations(body: Any) -> Iterator[Any]:
    """The document with one thing changed, for everything in it."""
    if isinstance(body, dict):
        for key, value in body.items():
            for other in (*changed_values(value), *mutations(value)):
                yield {**body, key: other}
    elif isinstance(body, list):
        for i, value in enumerate(body):
            own = () if isinstance(value, list) else changed_values(value)
            for other in (*own, *mutations(value)):
                yield [*body[:i], other, *body[i + 1 :]]


def is_noticed(rows: list[PhaseFidelity]) -> bool:
    return not all(row.exact or row.left_to_mpi for row in rows)


def told(kernel: Kernel) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(kernel.model_dump_json())
    return body


@pytest.mark.parametrize("name", MODELS)
def test_any_change_of_what_the_replay_does_is_noticed(tmp_path: Path, name: str) -> None:
    model = MODELS[name]
    kernel = make_kernel(model, km.written(model, tmp_path))
    assert not is_noticed(replay_fidelity(kernel, model))
    plan, body = lower(kernel), told(kernel)
    n_changed = 0
    for part in PARTS:
        for other in mutations({part: body[part]}):
            try:
                mutant = Kernel.model_validate({**body, **other})
                text = lower(mutant)
                made = read_plan(text)
            except (ValidationError, KernelError):
                continue  # refused
            if does_the_same(made, read_plan(plan)):
                continue
            n_changed += 1
            try:
                rows = replay_fidelity(mutant, model)
            except KernelError:
                continue
            assert is_noticed(rows), difference(plan, text)
    assert n_changed > 20


def broken(text: str) -> Iterator[str]:
    """The plan as a lowering would write it that drops, doubles, swaps or changes something."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        kind, *words = line.split() or [""]
        if kind in (
            "call",
            "memory",
            "linear",
            "run",
            "view",
            "info",
            "communicator",
            "phase",
            *_STEPS,
        ):
            for place, word in enumerate(words):
                if word.lstrip("-").isdigit() or word == "-":
                    other = "0" if word == "-" else str(int(word) + 1)
                    changed = " ".join([kind, *words[:place], other, *words[place + 1 :]])
                    yield "\n".join([*lines[:number], changed, *lines[number + 1 :]])
        if kind in _STEPS:
            yield "\n".join([*lines[:number], *lines[number + 1 :]])
            yield "\n".join([*lines[: number + 1], *lines[number:]])
            if lines[number + 1].split()[0] in _STEPS:
                swapped = [lines[number + 1], line]
                yield "\n".join([*lines[:number], *swapped, *lines[number + 2 :]])


_STEPS = ("data", "do", "empty", "pair", "sync", "pause")


@pytest.mark.parametrize("name", MODELS)
def test_a_lowering_that_goes_wrong_is_noticed(tmp_path, monkeypatch, name):
    """Or its plan is refused."""
    model = MODELS[name]
    kernel = make_kernel(model, km.written(model, tmp_path))
    plan, n_changed = lower(kernel), 0
    for text in broken(plan):
        monkeypatch.setattr(certificate, "lower", lambda _, text=text: text)
        try:
            if not does_the_same(read_plan(text), read_plan(plan)):
                n_changed += 1
                assert is_noticed(replay_fidelity(kernel, model)), difference(plan, text)
        except KernelError:
            continue
    assert n_changed > 20


def does_the_same(made: PlannedRun, plan: PlannedRun) -> bool:
    """Whether all ranks make the same calls; table rows that nothing uses may differ."""
    tables = ("views", "infos", "communicators")
    return all(
        getattr(made, name)[: len(getattr(plan, name))] == getattr(plan, name) for name in tables
    ) and (made.n_ranks, operations(made), programs(made)) == (
        plan.n_ranks, operations(plan), programs(plan),
    )  # fmt: skip


def programs(plan: PlannedRun) -> dict[int, list[Step]]:
    """By rank, without a last synchronisation of all: MPI_Finalize is one, and a rank's that does nothing else."""
    everyone = [i for i, ranks in enumerate(plan.communicators) if len(ranks) == plan.n_ranks]
    found = {}
    for rank, steps in plan.programs.items():
        kept = list(steps)
        while kept and isinstance(kept[-1], SyncStep) and kept[-1].communicator in everyone:
            kept.pop()
        if kept:
            found[rank] = kept
    return found


def operations(plan: PlannedRun) -> object:
    """Every call of every phase, as each rank makes it that takes part."""
    ranks = {
        ph_id: [rank for rank, steps in sorted(plan.programs.items()) if takes_part(ph_id, steps)]
        for ph_id in plan.phases
    }
    return {
        ph_id: (phase.file_id, [
            (call.name, call.placed, call.handle, [
                (normal(call.runs(rank)), plan.views[call.memory[rank]] if rank in call.memory else None)
                for rank in ranks[ph_id]
            ])
            for call in phase.calls
        ])
        for ph_id, phase in plan.phases.items()
    }  # fmt: skip


def takes_part(ph_id: int, steps: list[Step]) -> bool:
    return any(isinstance(step, DataStep) and step.ph_id == ph_id for step in plain_steps(steps))


def difference(plan: str, other: str) -> str:
    return "\n".join(unified_diff(plan.splitlines(), other.splitlines(), n=1))


@pytest.mark.parametrize("option", ["-np", "-s", "-b", "-t", "-a", "-w", "-c", "-F"])
def test_any_change_of_an_ior_line_is_noticed(tmp_path: Path, option: str) -> None:
    # Sequential writes and reads of a file for each process: what IOR makes is exact but for its surroundings.
    model = km.file_per_process()
    kernel = make_kernel(model, km.written(model, tmp_path))
    before = ior_fidelity(kernel, model.phases)
    for number, line in enumerate(kernel.ior):
        words = line.command.split()
        if option in ("-np", "-s", "-b", "-t"):
            for name in (option, "-N") if option == "-np" else (option,):  # which must be the same
                place = words.index(name) + 1
                words[place] = str(int(words[place]) * 2)
        elif option == "-a":
            words[words.index("-a") + 1] = "MPIIO"
        elif option in words:
            words[words.index(option)] = "-r" if option == "-w" else "-k"
        elif option == "-c":
            words.append("-c")
        else:
            continue
        other = line.model_copy(update={"command": " ".join(words)})
        lines = (*kernel.ior[:number], other, *kernel.ior[number + 1 :])
        rows = ior_fidelity(kernel.model_copy(update={"ior": lines}), model.phases)
        assert rows[number] != before[number]
        assert len(rows[number].differences) > len(before[number].differences)


def test_a_line_that_is_missing_is_noticed(tmp_path: Path) -> None:
    model = km.file_per_process()
    kernel = make_kernel(model, km.written(model, tmp_path))
    rows = ior_fidelity(kernel.model_copy(update={"ior": kernel.ior[1:]}), model.phases)
    missing = [row for row in rows if "No line performs it." in row.differences]
    assert {ph_id for row in missing for ph_id in row.ph_ids} == set(kernel.ior[0].ph_ids)
    assert all(row.kernel.operations == 0 for row in missing)


def test_fio_jobs_of_another_kernel_are_noticed(tmp_path: Path) -> None:
    model = km.file_per_process()
    kernel = make_kernel(model, km.written(model, tmp_path))
    first = kernel.phases[0].model_copy(update={"offset": (km.linear(b=65536, c=8),)})
    changed = kernel.model_copy(update={"phases": (first, *kernel.phases[1:])})
    (row, *_) = fio_fidelity(changed, model.phases)
    assert row.ranks_with_other_offsets == 1
    assert (
        "Operation 0 of task 0: 65536 bytes at 8, the model has 65536 bytes at 0."
        in row.differences
    )
