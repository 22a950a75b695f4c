"""A kernel file and its plan say of each kind of step what the model said, number for number."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import kernel_models as km
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.file import FileName
from wavetank.model.document.model import View
from wavetank.model.document.program import Program, given_by_number

DATA, FOLDER, SHARED = 1, 2, 3  # files
SELF, ALL = 0, 1  # communicators
MAKE = os.O_RDWR | os.O_CREAT  # 66
LOOK = os.O_RDONLY | os.O_DIRECTORY  # 65536


def call(name: str, file_id: int = DATA, number: int = 0, /, **more: Any) -> dict[str, Any]:
    given = given_by_number(name, number) if number else {}
    return {
        "step": "file", "iop_type": name, "file_id": file_id, "handle": 0, **given, "size": 0, "offset": None,
        "view_id": None, "view_ids": None, "info_id": None, "communicator": None, "name": 0, "error": 0, "count": 1,
        **more,
    }  # fmt: skip


MOVE = {"step": "data", "ph_id": 1, "n": 1, "single": False, "null_seeks": 0, "handle": None}
# Each step as the file has it, and its lines of the plan: do CALL FILE HANDLE NUMBER OFFSET VIEW COMMUNICATOR ERROR COUNT HINTS NAME
STEPS: list[tuple[dict[str, Any], str]] = [
    (call("mkdir", FOLDER, 0o755), "do mkdir 2 0 493 - - - 0 1 - 0"),
    (call("open", DATA, MAKE), "do open 1 0 66 - - - 0 1 - 0"),
    (MOVE, "data 1 1 - 0 0"),
    (call("lseek", DATA, os.SEEK_END, offset=4096), "do lseek 1 0 2 4096 - - 0 1 - 0"),
    (
        {"step": "repeat", "times": 2, "steps": [MOVE, call("fsync", count=3)]},
        "repeat 2\ndata 1 1 - 0 0\ndo fsync 1 0 0 - - - 0 3 - 0\nend",
    ),
    (
        {"step": "mix", "steps": [MOVE, call("fstat")], "order": [1, 0, 1]},
        "do fstat 1 0 0 - - - 0 1 - 0\ndata 1 1 - 0 0\ndo fstat 1 0 0 - - - 0 1 - 0",
    ),
    (call("pread", size=512, offset=16384), "empty pread 1 0 16384 512 1 0"),
    (call("ftruncate", DATA, 8192), "do ftruncate 1 0 8192 - - - 0 1 - 0"),
    (call("ftruncate", DATA, -1, error=22), "do ftruncate 1 0 -1 - - - 22 1 - 0"),
    (call("mmap", DATA, 4096), "do mmap 1 0 4096 - - - 0 1 - 0"),
    ({"step": "pause", "seconds": 0.5}, "pause 500000000"),
    (call("close"), "do close 1 0 0 - - - 0 1 - 0"),
    (call("rename", DATA, 0), ""),
    (call("rename", DATA, 1, name=1), "pair rename 1 0 1 1 0"),
    (call("utime", DATA, 1, name=1), "do utime 1 0 1 - - - 0 1 - 1"),
    (call("open", FOLDER, LOOK), "do open 2 0 65536 - - - 0 1 - 0"),
    (call("readdir", FOLDER, count=2), "do readdir 2 0 0 - - - 0 2 - 0"),
    (call("readdir", FOLDER, 1), "do readdir 2 0 1 - - - 0 1 - 0"),
    (call("close", FOLDER), "do close 2 0 0 - - - 0 1 - 0"),
    (
        call("MPI_File_open", SHARED, km.MPI_CREATE_RDWR, communicator=SELF, info_id=0),
        "do MPI_File_open 3 0 9 - - 0 0 1 0 0",
    ),
    (call("MPI_File_set_view", SHARED, view_id=0), "do MPI_File_set_view 3 0 0 - 0 - 0 1 - 0"),
    (call("MPI_File_set_atomicity", SHARED, 1), "do MPI_File_set_atomicity 3 0 1 - - - 0 1 - 0"),
    (call("MPI_File_close", SHARED), "do MPI_File_close 3 0 0 - - - 0 1 - 0"),
    ({"step": "sync", "communicator": ALL, "count": 2}, "sync 1 2"),
    ({"step": "process", "rank": 1, "event": "ended"}, ""),
]  # fmt: skip


@pytest.fixture(name="kernel")
def _kernel(tmp_path: Path) -> Kernel:
    written = km.phase(1, DATA, (0,), 4, [km.member("pwrite", 4096, 4096)], [km.linear(b=4096)])
    files = [
        km.model_file(DATA, "/s/data", 16384).model_copy(
            update={"other_names": (FileName(path="/s/final", symlink=False),)}
        ),
        km.model_file(FOLDER, "/s/folder", 0),
        km.model_file(SHARED, "/s/shared", 0),
    ]
    programs = [
        Program.model_validate({"ranks": [0], "steps": [step for step, _ in STEPS]}),
        Program.model_validate({"ranks": [1], "steps": [STEPS[-2][0]]}),
    ]
    view = View(displacement=0, etype_size=8, extent=16, run_offsets=(0,), run_lengths=(8,))
    model = km.model(2, files, [written], [], views=(view,), communicators=((0,), (0, 1)))
    hints = (("cb_nodes", "1"),)
    model = model.model_copy(update={"infos": (hints,), "programs": tuple(programs)})
    return make_kernel(model, km.written(model, tmp_path))


def test_each_step_is_written_as_it_was_given(kernel: Kernel) -> None:
    steps = json.loads(kernel.to_json())["programs"][0]["steps"]
    assert [json.dumps(step) for step in steps] == [json.dumps(step) for step, _ in STEPS]


def test_a_kernel_that_is_read_and_written_again_is_the_same_file(
    kernel: Kernel, tmp_path: Path
) -> None:
    kernel.write(tmp_path / "k.json")
    assert Kernel.read(tmp_path / "k.json").to_json() == (tmp_path / "k.json").read_text()


def test_each_step_s_lines_of_the_plan_have_its_numbers(kernel: Kernel) -> None:
    wanted = "\n".join(lines for _, lines in STEPS if lines).split("\n")
    lines = [line.strip() for line in lower(kernel).splitlines()]
    first = lines.index(wanted[0])
    assert lines[first : first + len(wanted)] == wanted


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("infos", "gives MPI hints that are not there"),
        ("views", "sets a file view that is not there"),
        ("communicators", "opens a file on communicator 0, which is not there"),
    ],
)
def test_a_kernel_whose_steps_name_what_was_taken_out_is_refused(
    kernel: Kernel, tmp_path: Path, table: str, told: str
) -> None:
    edited = json.loads(kernel.to_json()) | {table: []}
    (tmp_path / "k.json").write_text(json.dumps(edited))
    with pytest.raises(KernelError, match=told):
        Kernel.read(tmp_path / "k.json")
