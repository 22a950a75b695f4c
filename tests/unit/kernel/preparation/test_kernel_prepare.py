import errno
import os
import threading
from pathlib import Path

import kernel_models as km
import pytest

from waiting import HANG_S
from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.preparation.input_files import prepare_files, remove_files
from wavetank.kernel.preparation.pattern import FILE_STEP, PERIOD, content, pattern


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return make_kernel(km.abyss(300_000), km.written(km.abyss(300_000), tmp_path))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_the_pattern_begins_with_splitmix64():
    # first output of splitmix64 seeded with 0 (the reference's published test vector)
    assert int.from_bytes(pattern()[:8], "little") == 0xE220A8397B1DCDAF
    assert len(pattern()) == PERIOD


def test_every_byte_of_a_file_follows_from_its_place_and_file():
    data = b"".join(content(3, 10 * PERIOD + 5))
    assert len(data) == 10 * PERIOD + 5
    for offset in (0, 1, 4095, PERIOD - 1, 7 * PERIOD + 11, 10 * PERIOD + 4):
        assert data[offset] == pattern()[(offset + 3 * FILE_STEP) % PERIOD]


def test_inputs_are_written_and_not_sparse(kernel, root):
    prepare_files(kernel, root)
    for file in kernel.files:
        facts = (root / file.name).stat()
        assert facts.st_size == 300_000
        assert (root / file.name).read_bytes() == b"".join(content(file.file_id, 300_000))


def test_a_file_that_is_right_already_is_kept(kernel, root):
    prepare_files(kernel, root)
    before = (root / "reads1.fastq").stat().st_mtime_ns
    told: list[str] = []
    prepare_files(kernel, root, told.append)
    assert (root / "reads1.fastq").stat().st_mtime_ns == before and told == []


@pytest.mark.parametrize("damage", [0, 150_001, 299_999])
def test_a_file_with_a_wrong_byte_where_it_is_sampled_is_made_again(kernel, root, damage):
    prepare_files(kernel, root)
    path = root / "reads2.fastq"
    data = bytearray(path.read_bytes())
    data[damage] ^= 1
    path.write_bytes(data)
    prepare_files(kernel, root)
    assert path.read_bytes() == b"".join(content(2, 300_000))


def test_somebody_elses_file_is_never_overwritten(kernel, root):
    (root / "reads1.fastq").write_text("my only copy")
    with pytest.raises(KernelError, match="not made by wavetank"):
        prepare_files(kernel, root)
    assert (root / "reads1.fastq").read_text() == "my only copy"


def test_outputs_of_an_earlier_run_are_removed(tmp_path, root):
    made = km.btio(2)
    kernel = make_kernel(made, km.written(made, tmp_path))
    prepare_files(kernel, root)
    (root / "btio.full.out").write_text("old")
    prepare_files(kernel, root)
    assert not (root / "btio.full.out").exists()


def test_removing_leaves_nothing_of_ours_and_all_of_others(kernel, root):
    prepare_files(kernel, root)
    (root / "other").write_text("stays")
    remove_files(kernel, root)
    assert [path.name for path in root.iterdir()] == ["other"]


def test_a_directory_that_does_not_exist_is_said(kernel, root):
    with pytest.raises(KernelError, match="not a directory"):
        prepare_files(kernel, root / "no")


def test_too_little_space_is_said_before_anything_is_written(kernel, root):
    files = (kernel.files[0].model_copy(update={"prepare_bytes": 1 << 60}), *kernel.files[1:])
    with pytest.raises(KernelError, match=r"needs 1024.0 PiB \(input files 1024.0 PiB\)"):
        prepare_files(kernel.model_copy(update={"files": files}), root)
    assert list(root.iterdir()) == []


N_FILES = 40


@pytest.fixture
def many(kernel: Kernel) -> Kernel:
    """A kernel of many inputs, the first of which is empty."""
    files = (
        kernel.files[0].model_copy(update={"name": f"in{number}", "prepare_bytes": 1000 * number})
        for number in range(N_FILES)
    )
    return kernel.model_copy(update={"files": tuple(files)})


def test_inputs_wait_for_storage_together_and_all_are_there_at_the_end(many, root, monkeypatch):
    """Each flush waits for another one: one by one they would wait for ever."""
    two, synced = threading.Barrier(2), {}

    def sync(fd: int) -> None:
        two.wait(HANG_S)
        facts = os.fstat(fd)
        synced[facts.st_ino] = facts.st_size

    monkeypatch.setattr("wavetank.kernel.preparation.input_files.os.fsync", sync)
    monkeypatch.setattr("wavetank.kernel.preparation.input_files.write_whole", lambda *_: None)
    prepare_files(many, root)
    assert sorted(synced.values()) == [1000 * number for number in range(N_FILES)]
    assert {(root / f"in{number}").stat().st_ino for number in range(N_FILES)} == set(synced)


@pytest.mark.parametrize("failing", [0, 20, N_FILES - 1])
def test_an_input_that_does_not_reach_storage_is_an_error(many, root, monkeypatch, failing):
    def sync(fd: int) -> None:
        if os.fstat(fd).st_size == 1000 * failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("wavetank.kernel.preparation.input_files.os.fsync", sync)
    monkeypatch.setattr("wavetank.kernel.preparation.input_files.write_whole", lambda *_: None)
    with pytest.raises(KernelError, match=r"cannot prepare the kernel's files in .*Input/output"):
        prepare_files(many, root)
