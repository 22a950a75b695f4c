"""--verify compares written bytes with the pattern and bytes that nobody wrote with zero, and says what it cannot tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay_run import replay  # first: makes kernel_models importable

import kernel_models as km  # isort: skip
from waiting import HANG_S
from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.kernel.results.result import ReplayResult
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase, Run
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
    given_by_number,
)

VERIFY = ReplayOptions(verify=True, timeout_s=HANG_S)
NEW = km.O_RDWR | km.O_CREAT
ZEROS, EITHER = "verified_zeros_that_nobody_wrote", "either_written_or_zero_in_no_known_order"


def at(number: int, call: str, rs: int, offset: int, rank: int = 0, nrep: int = 1, step: int = 0) -> Phase:  # fmt: skip
    """A phase of one rank: calls of rs bytes from offset on, step bytes apart."""
    return km.phase(
        number, 1, (rank,), nrep, [km.member(call, rs, step)], [km.linear(b=step, c=offset)]
    )


def opened(flags: int = NEW, handle: int = 0) -> FileStep:
    return FileStep(iop_type="open", file_id=1, handle=handle, flags=flags)


def on_file(call: str, number: int = 0) -> FileStep:
    return FileStep(iop_type=call, file_id=1, handle=0, **given_by_number(call, number))


def data(number: int, n: int = 1) -> DataStep:
    return DataStep(ph_id=number, n=n)


def made(phases: list[Phase], *programs: tuple[Step, ...], size: int = 8192) -> Model:
    n = len(programs)
    return km.model(
        n, [km.model_file(1, "/s/f", size)], phases,
        [Program(ranks=(rank,), steps=steps) for rank, steps in enumerate(programs)],
        communicators=(tuple(range(n)),) if n > 1 else (),
    )  # fmt: skip


def verified(model: Model, folder: Path, name: str = "none") -> ReplayResult:
    result, _ = replay(model, folder, name, VERIFY)
    assert result.status == "ok", result.failure
    return result


def counts(result: ReplayResult) -> tuple[int, int, int, int]:
    """Bytes that were the pattern, zero, either, and not compared."""
    keys = ("verified_bytes", ZEROS, EITHER, "not_verified_bytes")
    return tuple(int(result.settings.get(key, "0")) for key in keys)  # type: ignore[return-value]


def test_bytes_that_nobody_wrote_are_zeros(tmp_path):
    # 1000 bytes at 3000 and at 5000; all of 0 to 6000 is read: 4000 bytes in holes
    phases = [at(1, "pwrite", 1000, 3000, nrep=2, step=2000), at(2, "pread", 6000, 0)]
    steps = (opened(), data(1, 2), data(2), on_file("close"))
    assert counts(verified(made(phases, steps), tmp_path)) == (2000, 4000, 0, 0)


def test_a_hole_is_zero_until_it_is_written(tmp_path):
    phases = [
        at(1, "pwrite", 100, 900), at(2, "pread", 1000, 0), at(3, "pwrite", 500, 0), at(4, "pread", 1000, 0),
    ]  # fmt: skip
    steps = (opened(), data(1), data(2), data(3), data(4), on_file("close"))
    # first 900 zeros and 100 written, then 400 zeros and 600 written
    assert counts(verified(made(phases, steps), tmp_path)) == (700, 1300, 0, 0)


@pytest.mark.parametrize("how", ["ftruncate", "O_TRUNC"])
def test_what_is_cut_off_is_a_hole_afterwards(tmp_path, how):
    phases = [at(1, "pwrite", 4000, 0), at(2, "pwrite", 100, 3900), at(3, "pread", 4000, 0)]
    cut: tuple[Step, ...] = (on_file("ftruncate", 1000),)
    if how == "O_TRUNC":
        cut = (on_file("close"), opened(km.O_RDWR | km.O_TRUNC))
    steps = (opened(), data(1), *cut, data(2), data(3), on_file("close"))
    left = 1000 if how == "ftruncate" else 0
    assert counts(verified(made(phases, steps), tmp_path)) == (left + 100, 3900 - left, 0, 0)


def test_what_was_prepared_is_the_pattern_and_what_is_behind_it_a_hole(tmp_path):
    phases = [at(1, "pwrite", 100, 5000), at(2, "pread", 5100, 0)]
    model = made(phases, (opened(km.O_RDWR), data(1), data(2), on_file("close")))
    file = km.model_file(1, "/s/f", 5100, 2000)
    model = model.model_copy(update={"files": (file,)})
    assert counts(verified(model, tmp_path)) == (2100, 3000, 0, 0)


def test_a_file_that_was_removed_and_made_again_is_empty(tmp_path):
    phases = [at(1, "pwrite", 4000, 0), at(2, "pwrite", 100, 3900), at(3, "pread", 4000, 0)]
    steps = (
        opened(), data(1), on_file("close"), on_file("unlink"), opened(), data(2), data(3), on_file("close"),
    )  # fmt: skip
    assert counts(verified(made(phases, steps), tmp_path)) == (100, 3900, 0, 0)


def test_a_file_without_a_name_keeps_its_bytes(tmp_path):
    phases = [at(1, "pwrite", 100, 900), at(2, "pread", 1000, 0)]
    steps = (opened(), data(1), on_file("unlink"), data(2), on_file("close"))
    assert counts(verified(made(phases, steps), tmp_path)) == (100, 900, 0, 0)


def test_a_hundred_thousand_strided_writes_with_reads_between_them(tmp_path):
    n = 100_000
    pattern = [km.member("pwrite", 64, 4096), km.member("pread", 128, 4096)]
    phases = [
        km.phase(1, 1, (0,), n, pattern, [km.linear(b=4096), km.linear(b=4096)]),
        at(2, "pwrite", 100, n * 4096),
    ]
    # each read has what the write before it wrote, and 64 bytes of the hole
    steps = (opened(), data(2), data(1, n), on_file("close"))
    result = verified(made(phases, steps, size=n * 4096 + 100), tmp_path)
    assert counts(result) == (64 * n, 64 * n, 0, 0)


def test_irregular_writes_are_all_known(tmp_path):
    places = [(7919 * i) % 5003 * 20 for i in range(5003)]  # all multiples of 20 once, in no order
    runs = [Run(count=1, rs=10, offset=place, disp=0, moved=10) for place in places]
    listed = km.phase(1, 1, (0,), 5003, [km.member("pwrite", 10)], [km.listed(runs)])
    phases = [listed, at(2, "pread", 5003 * 20 - 10, 0)]
    steps = (opened(), data(1, 5003), data(2), on_file("close"))
    result = verified(made(phases, steps, size=5003 * 20), tmp_path)
    assert counts(result) == (5003 * 10, 5002 * 10, 0, 0)


def interleaved(*between: Step, reads: str = "pread") -> Model:
    """Two ranks write 50 blocks of 100 bytes of 300 each, in turns: the third block is a hole. Then both read all."""
    phases = [
        at(1, "pwrite", 100, 0, nrep=50, step=300),
        at(2, "pwrite", 100, 100, rank=1, nrep=50, step=300),
        at(3, reads, 14900, 0),
        at(4, reads, 14900, 0, rank=1),
    ]
    return made(
        phases,
        (opened(), SyncStep(communicator=0), data(1, 50), *between, data(3), on_file("close")),
        (opened(), SyncStep(communicator=0), data(2, 50), *between, data(4), on_file("close")),
        size=14900,
    )


def test_what_other_ranks_wrote_is_known_when_they_have_met(tmp_path):
    result = verified(interleaved(SyncStep(communicator=0)), tmp_path, "openmpi")
    # of 14900 bytes 50 blocks of each rank are written, and 49 of 100 are holes
    assert counts(result) == (2 * 10_000, 2 * 4900, 0, 0)


def test_what_no_order_is_known_of_may_be_either_and_is_counted(tmp_path):
    """A rank reads blocks that the other one writes at the same time, before any synchronisation."""
    phases = [
        at(1, "pwrite", 100, 0), at(2, "pwrite", 100, 900), at(3, "pread", 500, 400, rank=1), at(4, "pwrite", 50, 450),
    ]  # fmt: skip
    sync = SyncStep(communicator=0)
    model = made(
        phases,
        (opened(), data(1), data(2), sync, data(4), sync, on_file("close")),
        (sync, opened(km.O_RDONLY), data(3), sync, on_file("close")),
    )
    # 400 to 900 are a hole but for 450 to 500, which rank 0 writes before, while or after rank 1 reads
    assert counts(verified(model, tmp_path, "openmpi")) == (0, 450, 50, 0)


def test_rewritten_each_time_by_one_rank_nothing_is_known_until_the_last(tmp_path):
    """A checkpoint that rank 0 empties and writes twice, read by rank 1 each time."""
    phases = [at(1, "pwrite", 1000, 1000, nrep=2), at(2, "pread", 2000, 0, rank=1, nrep=2)]
    sync = SyncStep(communicator=0)
    rewrite = (opened(km.O_RDWR | km.O_CREAT | km.O_TRUNC), data(1), on_file("close"), sync, sync)
    read = (sync, opened(km.O_RDONLY), data(2), on_file("close"), sync)
    model = made(phases, (RepeatStep(times=2, steps=rewrite),), (RepeatStep(times=2, steps=read),))
    pattern, zeros, either, unchecked = counts(verified(model, tmp_path, "openmpi"))
    # the first time rank 0 will empty the file once more, at a moment that rank 1 cannot know: its 1000 bytes may be either
    assert (pattern, zeros, either, unchecked) == (1000, 2000, 1000, 0)


def test_ranks_meet_at_each_barrier_however_steps_are_cut(tmp_path):
    phases = [
        at(1, "pwrite", 100, 0), at(2, "pread", 100, 0, rank=1), at(3, "pwrite", 100, 200), at(4, "pread", 300, 0, rank=1),
    ]  # fmt: skip
    one, two = SyncStep(communicator=0), SyncStep(communicator=0, count=2)
    model = made(
        phases,
        (opened(), data(1), two, data(3), two, on_file("close")),
        (opened(), one, one, data(2), one, one, data(4), on_file("close")),
    )
    assert counts(verified(model, tmp_path, "openmpi")) == (300, 100, 0, 0)


def test_through_views_all_is_known_after_collective_writes(tmp_path):
    result, _ = replay(km.btio(steps=3, rs=960, piece=480, n_ranks=2), tmp_path, "mpich", VERIFY)
    assert counts(result) == (3 * 2 * 960, 0, 0, 0)


FAULT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is read at FAULT_AT has another bit. */
ssize_t pread64(int fd, void *b, size_t size, off_t offset) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!real)
        real = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
    ssize_t moved = real(fd, b, size, offset);
    long at = atol(getenv("FAULT_AT")) - (long)offset;
    if (moved > at && at >= 0 && size > 1000)
        ((char *)b)[at] ^= 0x40;
    return moved;
}
ssize_t pread(int fd, void *b, size_t size, off_t offset) {
    return pread64(fd, b, size, offset);
}
"""


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (650, "a wrong byte was read at offset 650"),  # a block of rank 0: 600 to 700
        (750, "a wrong byte was read at offset 750"),  # of rank 1
        (850, "a byte that was never written is not zero, at offset 850 of the file (it is 0x40)"),
    ],
)
def test_one_wrong_byte_is_found_where_something_was_written_and_in_holes(
    tmp_path, monkeypatch, where, message
):
    import subprocess

    source, library = tmp_path / "fault.c", tmp_path / "fault.so"
    source.write_text(FAULT)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("FAULT_AT", str(where))
    result, _ = replay(interleaved(SyncStep(communicator=0)), tmp_path, "openmpi", VERIFY)
    assert result.status == "failed"
    assert message in (result.failure or "")
