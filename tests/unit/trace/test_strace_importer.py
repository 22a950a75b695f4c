"""strace's logs: flags of opens, places of appended writes, packed and cut logs, logs without process ids."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from waiting import HANG_S
from wavetank.errors import TraceError
from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.open import kind_of, open_trace
from wavetank.trace.ops import OPS

# strace 6.1 -f -ttt -y -T of: sh -c 'echo hi > new; echo there >> new; echo x >> old; dd of=image bs=4 count=2 conv=notrunc'
LOG = """\
7 1700000000.000000 execve("/bin/sh", ["sh", "-c", "..."], 0x7ffd /* 9 vars */) = 0 <0.0001>
7 1700000000.100000 openat(AT_FDCWD</data>, "new", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</data/new> <0.000005>
7 1700000000.200000 write(3</data/new>, "hi\\n", 3) = 3 <0.000005>
7 1700000000.300000 close(3</data/new>) = 0 <0.000005>
7 1700000000.400000 openat(AT_FDCWD</data>, "new", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3</data/new> <0.000005>
7 1700000000.500000 write(3</data/new>, "there\\n", 6) = 6 <0.000005>
7 1700000000.600000 close(3</data/new>) = 0 <0.000005>
7 1700000000.700000 openat(AT_FDCWD</data>, "old", O_WRONLY|O_CREAT|O_APPEND, 0666) = 3</data/old> <0.000005>
7 1700000000.800000 write(3</data/old>, "x\\n", 2) = 2 <0.000005>
7 1700000000.900000 lseek(3</data/old>, 0, SEEK_END) = 50 <0.000005>
7 1700000001.000000 write(3</data/old>, "y\\n", 2) = 2 <0.000005>
7 1700000001.100000 openat(AT_FDCWD</data>, "O_TRUNC", O_RDWR|O_CREAT|O_EXCL|O_CLOEXEC, 0666) = 4</data/O_TRUNC> <0.000005>
7 1700000001.200000 ftruncate(4</data/O_TRUNC>, 8) = 0 <0.000005>
7 1700000001.300000 fallocate(4</data/O_TRUNC>, 0, 8, 100) = 0 <0.000005>
7 1700000001.400000 creat("/data/made", 0644) = 5</data/made> <0.000005>
"""


def written(where: Path, text: str = LOG, name: str = "log") -> Path:
    path = where / name
    path.write_text(text)
    return path


def operations(path: Path) -> list[tuple[str, str, int, int]]:
    """Of a log: call, file, offset, argument."""
    trace = open_trace(path)
    events = unfold(trace.folds)
    return [
        (
            OPS[int(events.op[i])].name,
            Path(trace.files[events.file[i]].path).name,
            int(events.offset[i]),
            int(trace.folds.details.number[events.given[i]]),
        )
        for i in range(len(events))
    ]


def test_opens_keep_their_flags(tmp_path: Path) -> None:
    flags = [arg for call, _, _, arg in operations(written(tmp_path)) if call == "open"]
    assert flags == [
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
        os.O_WRONLY | os.O_CREAT | os.O_APPEND,
        os.O_WRONLY | os.O_CREAT | os.O_APPEND,
        os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    ]


def test_appended_writes_have_their_places_where_the_size_is_known(tmp_path: Path) -> None:
    found = [(file, at) for call, file, at, _ in operations(written(tmp_path)) if call == "write"]
    # "new" was made in the log: 3 bytes, then 6 more. Of "old" the size is known by the seek to its end.
    assert found == [("new", 0), ("new", 3), ("old", -1), ("old", 50)]


def test_the_reason_is_told_why_a_place_is_not_known(tmp_path: Path) -> None:
    lines = LOG.splitlines(keepends=True)
    appends = (
        "1 call(s) have no offset: they append, or go on behind what was appended, and the log does not tell how large "
        "their files were"
    )
    assert texts(open_trace(written(tmp_path)).notes, "unrecorded") == (appends,)
    before = "2 call(s) have no offset: their files were open before strace began"
    # Without the opens of "new" its two writes are to a file that was open before.
    attached = "".join(line for line in lines if '"new"' not in line)
    assert texts(open_trace(written(tmp_path, attached)).notes, "unrecorded") == (before, appends)
    assert texts(open_trace(written(tmp_path, "".join(lines[:7]))).notes, "unrecorded") == ()


# strace 6.1 -f -ttt -y -T of: open n, write 3 B, rename n to m and the folder too, write 3 B, fork, write 3 B in the child
RENAMED = """\
7 1700000000.100000 openat(AT_FDCWD</data/a>, "n", O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0777) = 4</data/a/n> <0.004871>
7 1700000000.200000 write(4</data/a/n>, "abc", 3) = 3 <0.001548>
7 1700000000.300000 rename("n", "m")        = 0 <0.000018>
7 1700000000.400000 write(4</data/a/m>, "def", 3) = 3 <0.000008>
7 1700000000.500000 renameat2(AT_FDCWD</data/a>, "../a", AT_FDCWD</data/a>, "../b/", 0) = 0 <0.000008>
7 1700000000.600000 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f69) = 8 <0.000630>
8 1700000000.700000 write(4</data/b/m>, "ghi", 3) = 3 <0.056162>
"""


def test_a_file_that_is_renamed_while_it_is_open_keeps_its_position(tmp_path: Path) -> None:
    path = written(tmp_path, RENAMED)
    found = [(file, at) for call, file, at, _ in operations(path) if call == "write"]
    assert found == [("n", 0), ("m", 3), ("m", 6)]
    assert texts(open_trace(path).notes, "unrecorded") == ()


def test_octal_results_are_read(tmp_path: Path) -> None:
    mask = "7 1700000000.050000 umask(077)                   = 022 <0.000005>\n"
    assert operations(written(tmp_path, mask + LOG)) == operations(
        written(tmp_path, LOG, "without")
    )


def test_sizes_that_are_set_are_kept(tmp_path: Path) -> None:
    found = [row for row in operations(written(tmp_path)) if row[0] in ("ftruncate", "fallocate")]
    # As the tracer has them: the new size; the offset, and the end.
    assert found == [("ftruncate", "O_TRUNC", -1, 8), ("fallocate", "O_TRUNC", 8, 108)]


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_packed_log_is_read_as_the_log(tmp_path: Path, packing: str) -> None:
    plain = written(tmp_path)
    packed = tmp_path / "packed"
    if packing == "gzip":
        packed.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        if shutil.which("zstd") is None:
            pytest.skip("zstd is not installed")
        subprocess.run(["zstd", "-q", str(plain), "-o", str(packed)], check=True, timeout=HANG_S)
    assert kind_of(packed) == "strace"
    assert operations(packed) == operations(plain)


def test_a_packed_log_without_its_program_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 100)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TraceError, match="Install it"):
        open_trace(tmp_path / "log.zst")


def test_a_packed_log_that_is_cut_short_keeps_what_came_before(tmp_path: Path) -> None:
    text = "".join(
        f'7 1700000000.{i:06} pwrite64(3</data/f>, "", 8, {(i * 7919) % 100003}) = 8 <0.000005>\n'
        for i in range(50_000)
    )
    packed = gzip.compress(text.encode())
    (tmp_path / "log.gz").write_bytes(packed[: len(packed) // 2])
    trace = open_trace(tmp_path / "log.gz")
    assert 1000 < int(trace.folds.count.sum()) < 50_000
    assert any("cut short" in warning for warning in texts(trace.notes))


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # nobody writes: a reader would wait for ever
    with pytest.raises(TraceError, match="can be read only once"):
        open_trace(tmp_path / "pipe")
