"""What a run needs of storage is known, and asked for, before it starts."""

from __future__ import annotations

import os
from types import SimpleNamespace

import kernel_models as km
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.kernel.preparation.space import written_bytes
from wavetank.model.document.program import FileStep


def test_files_that_are_written_once_need_their_weight(tmp_path):
    kernel = make_kernel(km.btio(5), km.written(km.btio(5), tmp_path))
    assert written_bytes(kernel) == {1: 5 * 4 * 960}  # steps, ranks, bytes of each
    made = km.file_per_process(2, rs=1000, count=8)
    assert written_bytes(make_kernel(made, km.written(made, tmp_path))) == {1: 8000, 2: 8000}


def test_rewritten_bytes_are_needed_once_and_holes_not_at_all(tmp_path):
    again = km.phase(1, 1, (0,), 10, [km.member("pwrite", 100, 0)], [km.linear(b=0, c=50)])
    sparse = km.phase(2, 2, (0,), 3, [km.member("pwrite", 100, 10_000)], [km.linear(b=10_000)])
    files = [km.model_file(1, "/s/again", 150), km.model_file(2, "/s/sparse", 20_100)]
    opens = tuple(
        FileStep(iop_type="open", file_id=file_id, handle=0, flags=km.O_RDWR | km.O_CREAT)
        for file_id in (1, 2)
    )
    made = km.model(1, files, [again, sparse], [km.Program(ranks=(0,), steps=opens)])
    # 10 writes of 100 bytes at 50 reach byte 150; 3 of 100 with holes between them hold 300
    assert written_bytes(make_kernel(made, km.written(made, tmp_path))) == {1: 150, 2: 300}


def test_inputs_are_none_of_it(tmp_path):
    assert written_bytes(make_kernel(km.abyss(), km.written(km.abyss(), tmp_path))) == {}


def test_a_file_that_is_removed_in_the_run_is_left_out(tmp_path):
    made = km.file_per_process(1)
    gone = FileStep(iop_type="unlink", file_id=1, handle=0)
    program = made.programs[0].model_copy(update={"steps": (*made.programs[0].steps, gone)})
    made = made.model_copy(update={"programs": (program,)})
    assert written_bytes(make_kernel(made, km.written(made, tmp_path))) == {}


def test_too_little_room_for_the_output_is_said_beforehand_with_the_bytes(tmp_path, monkeypatch):
    made = km.file_per_process(2, rs=1 << 20, count=8)
    kernel = make_kernel(made, km.written(made, tmp_path))
    root = tmp_path / "root"
    root.mkdir()
    free = SimpleNamespace(f_bavail=15, f_frsize=1 << 20)
    monkeypatch.setattr(os, "statvfs", lambda _: free)
    with pytest.raises(KernelError, match=r"needs 16.0 MiB \(files that it writes 16.0 MiB\), .* has 15.0 MiB free"):  # fmt: skip
        prepare_files(kernel, root)
    assert list(root.iterdir()) == []
    free.f_bavail = 16
    prepare_files(kernel, root)
