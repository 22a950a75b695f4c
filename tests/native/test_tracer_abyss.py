"""ABYSS-P, a real assembler: the tracer agrees with strace on every file, request size and count."""

import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tracer_run import need, run_traced

from waiting import HANG_S
from wavetank.trace.events import unfold
from wavetank.trace.importers import strace
from wavetank.trace.ops import OPS, OPS_BY_NAME
from wavetank.trace.schema import OpKind, Trace

ABYSS = "/usr/lib/abyss/ABYSS-P"
READS = 1500
RECORD = len("@r0000/1\n") + 101 + 2 + 101  # bytes of a FASTQ record with a four-digit name


def write_reads(where: Path) -> None:
    """Paired reads of 100 bases from a seeded random genome."""
    chance = random.Random(7)
    genome = "".join(chance.choice("ACGT") for _ in range(3000))
    turned = str.maketrans("ACGT", "TGCA")
    records: tuple[list[str], list[str]] = ([], [])
    for i in range(READS):
        at = chance.randrange(len(genome) - 400)
        for end, bases in (
            (0, genome[at : at + 100]),
            (1, genome[at + 300 : at + 400].translate(turned)[::-1]),
        ):
            records[end].append(f"@r{i:04d}/{end + 1}\n{bases}\n+\n{'I' * 100}\n")
    for end in (0, 1):
        (where / f"reads{end + 1}.fastq").write_text("".join(records[end]))


def command(ranks: int) -> list[str]:
    return [
        "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), ABYSS, "-k", "25", "-q3",
        "--coverage-hist=coverage.hist", "-s", "bubbles.fa", "-o", "out.fa", "reads1.fastq", "reads2.fastq",
    ]  # fmt: skip


def data_operations(trace: Trace, below: Path) -> Counter[tuple[str, str, int, int, int]]:
    """(file, direction, offset, bytes asked, bytes moved) of every read and write of files in a directory."""
    events = unfold(trace.folds)
    found: Counter[tuple[str, str, int, int, int]] = Counter()
    for i in range(len(events)):
        kind = OPS[int(events.op[i])].kind
        path = Path(trace.files[events.file[i]].path) if events.file[i] >= 0 else None
        if kind in {OpKind.READ, OpKind.WRITE} and path is not None and path.parent == below:
            found[
                path.name,
                str(kind),
                int(events.offset[i]),
                int(events.size[i]),
                int(events.moved[i]),
            ] += 1
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Trace, Path]:
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi", "strace")
    if not Path(ABYSS).exists():
        pytest.skip("abyss is not installed")
    where = tmp_path_factory.mktemp("abyss")
    write_reads(where)
    log = where / "strace.log"
    subprocess.run(
        ["strace", "-f", "-ttt", "-y", "-T", "-s", "0", "-e",
         "trace=read,write,readv,writev,lseek,openat,open,close,dup,dup2,fcntl,clone,clone3,fork,vfork,execve",
         "-o", str(log), *command(2)],
        cwd=where, check=True, capture_output=True, timeout=HANG_S,
    )  # fmt: skip
    kernel = strace.read(log)
    for name in [p for p in where.iterdir() if p.suffix in {".fa", ".hist"}]:
        name.unlink()
    with pytest.MonkeyPatch.context() as monkeypatch:
        traced = run_traced(command(2), where, monkeypatch)
    shutil.rmtree(where / "run.trace")
    return traced, kernel, where


def test_every_read_and_write_is_the_kernel_s(runs: tuple[Trace, Trace, Path]) -> None:
    traced, kernel, where = runs
    ours, theirs = data_operations(traced, where), data_operations(kernel, where)
    assert ours - theirs == Counter()
    assert theirs - ours == Counter()
    assert sum(ours.values()) > 2 * READS * RECORD // 8191


def test_each_rank_reads_its_file_by_8191_bytes(runs: tuple[Trace, Trace, Path]) -> None:
    traced, _, where = runs
    events = unfold(traced.folds)
    reads = events.op == OPS_BY_NAME["read"].code
    for rank in (0, 1):
        path = str(where / f"reads{rank + 1}.fastq")
        file = [f.path for f in traced.files].index(path)
        mine = reads & (events.file == file)
        size = Path(path).stat().st_size
        assert size == READS * RECORD
        assert set(events.rank[mine].tolist()) == {rank}
        assert set(events.size[mine].tolist()) == {8191}
        full, rest = divmod(size, 8191)
        assert events.moved[mine].tolist() == [8191] * full + [rest, 0]
        assert np.diff(events.offset[mine]).tolist() == [8191] * full + [rest]


def test_a_tell_after_every_record_is_a_seek_that_moves_nothing(
    runs: tuple[Trace, Trace, Path],
) -> None:
    traced, _, where = runs
    events = unfold(traced.folds)
    file = [f.path for f in traced.files].index(str(where / "reads1.fastq"))
    seeks = (events.op == OPS_BY_NAME["lseek"].code) & (events.file == file)
    assert READS <= int(seeks.sum()) <= READS + 10
    assert set(traced.folds.details.origin[events.given[seeks]].tolist()) == {1}  # SEEK_CUR
    # Folded: a row ends at each read, and where messages come, which is a matter of the moment.
    rows = (traced.folds.op == OPS_BY_NAME["lseek"].code) & (traced.folds.file == file)
    assert int(rows.sum()) <= READS // 4


def test_a_descriptor_that_is_used_again_at_once_is_not_mistaken(
    runs: tuple[Trace, Trace, Path],
) -> None:
    # /proc/self/statm is read through the number that was the data file's.
    traced, _, where = runs
    assert all(not f.path.startswith("/proc") for f in traced.files)
    events = unfold(traced.folds)
    for number, file in enumerate(traced.files):
        if file.path == str(where / "reads1.fastq"):
            moved = events.moved[(events.file == number) & (events.op == OPS_BY_NAME["read"].code)]
            assert int(moved.sum()) == READS * RECORD


def test_rank_0_merges_files_after_mpi_finalize(runs: tuple[Trace, Trace, Path]) -> None:
    traced, _, where = runs
    events = unfold(traced.folds)
    mine = events.rank == 0
    end = int(events.seq[mine & (events.op == OPS_BY_NAME["MPI_Finalize"].code)][0])
    merged = [f.path for f in traced.files].index(str(where / "out.fa"))
    after = (
        mine
        & (events.seq > end)
        & (events.file == merged)
        & (events.op == OPS_BY_NAME["write"].code)
    )
    assert after.any()
