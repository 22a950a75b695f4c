"""strace's logs of MPI programs: which process is which rank, logs for each rank, and calls on two files."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import HANG_S
from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.open import kind_of, open_trace
from wavetank.trace.ops import OPS
from wavetank.trace.schema import Trace

# strace 6.1 -f -v -ttt -y -T; the environment is one of 25 entries, and arrays are written as here.
STARTED = '{pid} 1700000000.{at:06} execve("/d/app", ["app"], ["SHELL=/bin/bash", {entries}]) = 0 <0.0001>\n'
WRITTEN = '{pid} 1700000001.{at:06} pwrite64(3</data/out>, "", 100, {offset}) = 100 <0.000005>\n'


def log_of(ranks: dict[int, int], name: str = "OMPI_COMM_WORLD") -> str:
    """A log of processes (id -> rank) each of which writes at 100 times its rank, in the order of the ids."""
    text = ""
    for at, (pid, rank) in enumerate(ranks.items()):
        entries = f'"{name}_SIZE={len(ranks)}", "{name}_RANK={rank}"'
        text += STARTED.format(pid=pid, at=at, entries=entries)
    for at, (pid, rank) in enumerate(ranks.items()):
        text += WRITTEN.format(pid=pid, at=at, offset=100 * rank)
    return text


def written(where: Path, text: str) -> Path:
    where.write_text(text)
    return where


def places(trace: Trace) -> dict[int, list[int]]:
    """Offsets of each rank's data operations."""
    events = unfold(trace.folds)
    found: dict[int, list[int]] = {}
    for i in range(len(events)):
        if events.size[i]:
            found.setdefault(int(events.rank[i]), []).append(int(events.offset[i]))
    return found


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD", "PMI"])
def test_ranks_have_the_numbers_of_their_environment(tmp_path: Path, name: str) -> None:
    trace = open_trace(written(tmp_path / "log", log_of({70: 2, 71: 0, 72: 1}, name)))
    assert places(trace) == {0: [0], 1: [100], 2: [200]}
    assert [facts.pid for facts in trace.ranks] == [71, 72, 70]
    assert any(f"by {name}_RANK in the environment" in said for said in texts(trace.notes))


def test_a_launcher_and_what_ranks_start_come_after_the_ranks(tmp_path: Path) -> None:
    text = (
        '60 1700000000.000000 execve("/d/mpirun", ["mpirun"], ["SHELL=/bin/bash"]) = 0 <0.0001>\n'
        '60 1700000000.100000 openat(AT_FDCWD</d>, "/d/hosts", O_RDONLY) = 3</d/hosts> <0.0001>\n'
        + log_of({70: 1, 71: 0})
        + "70 1700000002.000000 clone(child_stack=NULL, flags=SIGCHLD) = 80 <0.0001>\n"
        + '80 1700000003.000000 openat(AT_FDCWD</d>, "/d/late", O_RDONLY) = 3</d/late> <0.0001>\n'
    )
    trace = open_trace(written(tmp_path / "log", text))
    assert [facts.pid for facts in trace.ranks] == [71, 70, 60, 80]
    assert [facts.of_launcher for facts in trace.ranks] == [True, True, False, False]
    assert any("2 process(es) that are no MPI ranks" in said for said in texts(trace.notes))


def test_ranks_that_are_not_in_the_log_are_counted_and_said(tmp_path: Path) -> None:
    text = STARTED.format(
        pid=70, at=0, entries='"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=2"'
    )
    trace = open_trace(written(tmp_path / "log", text + WRITTEN.format(pid=70, at=1, offset=7)))
    assert (trace.n_ranks, places(trace)) == (4, {2: [7]})
    assert any("of 4 MPI ranks 3 are not in the log" in said for said in texts(trace.notes))


def test_without_an_environment_it_says_that_ranks_are_not_known(tmp_path: Path) -> None:
    text = "".join(WRITTEN.format(pid=pid, at=pid, offset=pid) for pid in (9, 8))
    trace = open_trace(written(tmp_path / "log", text))
    assert places(trace) == {0: [9], 1: [8]}
    assert any(
        "which of them is which MPI rank is not in the log" in said for said in texts(trace.notes)
    )


def logs_of_ranks(folder: Path, n: int = 11) -> Path:
    """A log for each rank, of processes of one id on hosts of their own; the higher ranks come first."""
    folder.mkdir()
    for rank in range(n):
        text = WRITTEN.format(pid=7, at=100 - rank, offset=rank)
        (folder / f"out.{rank}").write_text(text)
    return folder


def test_a_folder_of_logs_of_each_rank_is_one_run(tmp_path: Path) -> None:
    folder = logs_of_ranks(tmp_path / "logs")
    assert kind_of(folder) == "strace"
    trace = open_trace(folder)
    assert places(trace) == {rank: [rank] for rank in range(11)}
    assert any("by the names of the logs" in said for said in texts(trace.notes))
    # All times are since the first operation of all, that of rank 10.
    assert int(trace.folds.start_ns[trace.folds.rank == 0][0]) == 10_000


def test_one_log_of_several_keeps_its_rank_and_names_the_others(tmp_path: Path) -> None:
    trace = open_trace(logs_of_ranks(tmp_path / "logs") / "out.3")
    assert (trace.n_ranks, places(trace)) == (11, {3: [3]})
    assert any("out.3 is one of 11 logs" in said for said in texts(trace.notes))


def test_calls_of_a_thread_before_its_start_came_back_are_the_processs(tmp_path: Path) -> None:
    text = (
        '5 1700000000.000000 openat(AT_FDCWD</d>, "/d/f", O_RDONLY) = 3</d/f> <0.0001>\n'
        "5 1700000000.100000 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD} <unfinished ...>\n"
        '6 1700000000.200000 pread64(3</d/f>, "", 10, 40) = 10 <0.0001>\n'
        "5 1700000000.300000 <... clone3 resumed>) = 6 <0.2>\n"
        '6 1700000000.400000 pread64(3</d/f>, "", 10, 50) = 10 <0.0001>\n'
    )
    trace = open_trace(written(tmp_path / "log", text))
    assert (trace.n_ranks, places(trace)) == (1, {0: [40, 50]})


# strace 6.1 of a program that has copied, sent and spliced between a (100 bytes) and b
MOVED = """\
4 1700000000.100000 openat(AT_FDCWD</d>, "/d/a", O_RDWR) = 3</d/a> <0.0001>
4 1700000000.200000 openat(AT_FDCWD</d>, "/d/b", O_RDWR|O_CREAT|O_TRUNC, 0666) = 4</d/b> <0.0001>
4 1700000000.300000 lseek(3</d/a>, 10, SEEK_SET) = 10 <0.000012>
4 1700000000.400000 copy_file_range(3</d/a>, NULL, 4</d/b>, NULL, 1000, 0) = 90 <0.000038>
4 1700000000.500000 copy_file_range(3</d/a>, [0], 4</d/b>, [5], 20, 0) = 20 <0.000019>
4 1700000000.600000 sendfile(4</d/b>, 3</d/a>, [0] => [30], 30) = 30 <0.000018>
4 1700000000.700000 splice(3</d/a>, [3], 6<pipe:[418993]>, NULL, 10, 0) = 10 <0.000017>
4 1700000000.800000 splice(5<pipe:[418993]>, NULL, 4</d/b>, NULL, 10, 0) = 10 <0.000015>
4 1700000000.900000 splice(5<pipe:[418993]>, NULL, 4</d/b>, [50], 10, 0) = 10 <0.000016>
4 1700000001.000000 preadv2(3</d/a>, [{iov_base="iov_len=9", iov_len=10}, {iov_base="x", iov_len=3}], 2, 7, RWF_HIPRI) = 13 <0.000017>
4 1700000001.100000 pwritev2(4</d/b>, [{iov_base="12345", iov_len=5}], 1, -1, 0) = 5 <0.000019>
4 1700000001.200000 write(4</d/b>, "1", 1) = 1 <0.000019>
4 1700000001.300000 read(3</d/a>, "1", 1) = 0 <0.000019>
"""


def rows(trace: Trace) -> list[tuple[str, str, int, int]]:
    """Call, file, offset and bytes moved of each data operation."""
    events = unfold(trace.folds)
    found = []
    for i in range(len(events)):
        name = OPS[int(events.op[i])].name
        if name not in ("open", "lseek"):
            file = Path(trace.files[events.file[i]].path).name
            found.append((name, file, int(events.offset[i]), int(events.moved[i])))
    return found


@pytest.mark.parametrize("place", ["[0] => [30]", "[0 => 30]"])  # as strace 6.1 and 7.2 write it
def test_calls_on_two_files_have_a_row_for_each_and_move_both_positions(
    tmp_path: Path, place: str
) -> None:
    found = rows(open_trace(written(tmp_path / "log", MOVED.replace("[0] => [30]", place))))
    assert found == [
        ("copy_file_range", "a", 10, 90), ("copy_file_range_to", "b", 0, 90),
        ("copy_file_range", "a", 0, 20), ("copy_file_range_to", "b", 5, 20),  # places given: positions stay
        ("sendfile", "a", 0, 30), ("sendfile_to", "b", 90, 30),  # b goes on behind the 90 bytes
        ("sendfile", "a", 3, 10),  # into a pipe
        ("sendfile_to", "b", 120, 10),  # out of it
        ("sendfile_to", "b", 50, 10),
        ("preadv", "a", 7, 13),
        ("writev", "b", 130, 5),  # an offset of -1 is the position
        ("write", "b", 135, 1),
        ("read", "a", 100, 0),  # 10 + 90
    ]  # fmt: skip


PROGRAM = """
import os
a = os.open("a", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
b = os.open("b", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
os.write(a, bytes(100))
os.lseek(a, 10, os.SEEK_SET)
os.sendfile(b, a, 0, 30)
r, w = os.pipe()
os.splice(a, w, 10)
os.splice(r, b, 10)
os.preadv(a, [bytearray(10)], 5, os.RWF_HIPRI)
os.read(a, 1)
os.write(b, b"1")
"""


def test_strace_itself_writes_what_is_read(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    log = tmp_path / "log"
    argv = ["strace", "-f", "-v", "-ttt", "-y", "-T", "-o", str(log), sys.executable, "-c", PROGRAM]
    environment = {
        "PATH": "/usr/bin:/bin",
        "OMPI_COMM_WORLD_RANK": "1",
        "OMPI_COMM_WORLD_SIZE": "2",
    }
    subprocess.run(argv, check=True, cwd=tmp_path, timeout=HANG_S, env=environment)
    trace = open_trace(log)
    assert [row for row in rows(trace) if row[1] in ("a", "b")] == [
        ("write", "a", 0, 100), ("sendfile", "a", 0, 30), ("sendfile_to", "b", 0, 30), ("sendfile", "a", 10, 10),
        ("sendfile_to", "b", 30, 10), ("preadv", "a", 5, 10), ("read", "a", 20, 1), ("write", "b", 40, 1),
    ]  # fmt: skip
    assert (trace.n_ranks, set(places(trace))) == (2, {1})
