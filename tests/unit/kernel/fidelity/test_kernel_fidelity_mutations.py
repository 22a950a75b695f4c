"""Whatever is changed in a kernel: if the replay would do anything else, its certificate says so.

Every number, word and list of a kernel is changed in turn. A changed kernel is refused, or leads to the same plan,
or is not exact.
"""

from __future__ import annotations

import json
from difflib import unified_diff
from pathlib import Path
from typing import Any

import kernel_models as km
import pytest
from mutations import mutations
from plan_checks import does_the_same
from plan_reader import read_plan
from pydantic import ValidationError
from varied_models import MODELS

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.fidelity.benchmark_certificate import fio_fidelity, ior_fidelity
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.kernel.fidelity.rows import PhaseFidelity
from wavetank.kernel.lowering.plan_text import lower

PARTS = ("n_ranks", "phases", "views", "infos", "communicators", "programs")


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
    assert (
        "Operation 0 of task 0: 65536 bytes at 8, the model has 65536 bytes at 0."
        in row.differences
    )
