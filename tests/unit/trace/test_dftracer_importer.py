"""DFTracer's format: logs of a release, and lines as DataCrumbs writes them, which sees the system calls by eBPF.

DataCrumbs' lines follow its sources: src/datacrumbs/server/process/writer/chrome_writer.cpp of 2026, and
datacrumbs/writer/perfetto.py of 2025 (github.com/LLNL/datacrumbs, github.com/hariharan-devarajan/datacrumbs).
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path, PurePath

import pytest

from wavetank.errors import TraceError
from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.open import kind_of, open_trace
from wavetank.trace.ops import OPS
from wavetank.trace.schema import Trace

SAMPLES = Path(__file__).parents[2] / "data" / "dftracer"
Rows = list[tuple[str, int, int]]  # call, bytes, offset


def rows(trace: Trace, name: str) -> Rows:
    events = unfold(trace.folds)
    return [
        (OPS[int(events.op[i])].name, int(events.size[i]), int(events.offset[i]))
        for i in range(len(events))
        if trace.files[events.file[i]].path == name
    ]


def written(where: Path, *lines: str) -> Path:
    log = where / "log.pfw"
    log.write_text("\n".join(["[", *lines, "]"]))
    return log


def test_a_releases_log_of_a_python_program_has_its_calls() -> None:
    log = SAMPLES / "python.pfw.gz"
    assert kind_of(log) == "dftracer"
    trace = open_trace(log)
    table = [row for row in rows(trace, "/scratch/df/table") if row[1]]
    assert table == [("write", 777, 777 * i) for i in range(30)] + [
        ("read", 777, 777 * i) for i in (5, 3, 9, 27, 1)
    ]
    places = [row for row in rows(trace, "/scratch/df/places") if row[1]]
    assert places == [("pwrite", 512, 2048 * i) for i in range(12)] + [
        ("pread", 256, 4096 * i) for i in range(6)
    ]
    opened = trace.folds.details.flags[trace.folds.given[0]]
    assert opened & os.O_WRONLY and opened & os.O_CREAT and opened & os.O_TRUNC


def test_stdio_is_followed_through_modes_items_and_fseek() -> None:
    trace = open_trace(SAMPLES / "stdio.pfw")
    moved = [row for row in rows(trace, "/scratch/df/st") if row[1]]
    written_at = [("write", 10, 10 * i) for i in range(5)]
    # What is appended has no place: the log does not tell the file's size.
    assert moved == [*written_at, ("write", 3, -1), ("read", 8, 5)]


def test_items_of_stdio_have_their_size(tmp_path: Path) -> None:
    def event(i: int, name: str, arguments: str) -> str:
        return (
            f'{{"id":{i},"name":"{name}","cat":"STDIO","type":3,"pid":7,"tid":7,"ts":{i},"dur":0,"ph":1,'
            f'"args":{{"fhash":"ab",{arguments}}}}}'
        )

    log = written(
        tmp_path,
        '{"name":"FH","cat":"dftracer","type":1,"pid":7,"tid":7,"ph":4,"args":{"name":"/d/x","value":"ab"}}',
        event(1, "fopen", '"mode":"r+"'),
        event(2, "fread", '"ret":3,"count":100,"size":8'),
        event(3, "fseek", '"ret":0,"whence":1,"offset":6'),
        event(4, "fwrite", '"ret":2,"count":2,"size":4'),
        event(5, "fseek", '"ret":-1,"whence":0,"offset":-1'),
        event(6, "fread", '"ret":1,"count":1,"size":1'),
        event(7, "fseek", '"ret":0,"whence":2,"offset":0'),
        event(8, "fread", '"ret":0,"count":1,"size":1'),
    )
    trace = open_trace(log)
    assert rows(trace, "/d/x") == [
        ("open", 0, -1), ("read", 800, 0), ("lseek", 0, 30), ("write", 8, 30), ("lseek", 0, -1), ("read", 1, 38),
        ("lseek", 0, -1), ("read", 1, -1),
    ]  # fmt: skip
    assert unfold(trace.folds).moved.tolist() == [0, 24, 0, 8, 0, 1, 0, 0]


def test_times_have_the_unit_that_the_log_says(tmp_path: Path) -> None:
    name = '{"name":"FH","cat":"dftracer","ph":4,"args":{"name":"/d/x","value":"ab"}}'
    read = '{"name":"read","cat":"POSIX","pid":7,"tid":7,"ts":5,"dur":2,"ph":1,"args":{"fhash":"ab","ret":1,"count":1}}'
    for unit, ns in (("US", 1_000), ("NS", 1), ("MS", 1_000_000)):
        metric = f'{{"name":"CM","cat":"dftracer","ph":4,"args":{{"name":"time_metric","value":"{unit}"}}}}'
        trace = open_trace(written(tmp_path, name, metric, read))
        assert trace.folds.busy_ns.tolist() == [2 * ns]


def of_2026(i: int, name: str, arguments: str = '"fhash":77') -> str:
    return f'{{"id":{i},"name":"{name}","cat":"sys","ph":"X","ts":{i * 10},"dur":3,"pid":9,"tid":7,"args":{{{arguments}}}}}'


def of_2025(i: int, name: str, arguments: str = '"fhash":77') -> str:
    return (
        f'{{"id":{i},"pid":9,"tid":7,"name":"{name}","cat":"sys","ph":"X","ts":{i * 10_000},"dur":3000,'
        f'"args":{{"hhash":5,{arguments}}}}}'
    )


NAMES = {
    of_2026: '{"id":1,"name":"","cat":"","ph":"M","args":{"hash":77,"value":"/d/x"}}',
    of_2025: '{"name":"FH","cat":"dftracer","ph":"M","args":{"name":"/d/x","value":77}}',
}


@pytest.mark.parametrize("event", NAMES, ids=["2026", "2025"])
def test_datacrumbs_system_calls_are_read_as_far_as_they_tell(
    tmp_path: Path, event: Callable[..., str]
) -> None:
    size = "size" if event is of_2026 else "size_sum"
    log = written(
        tmp_path,
        NAMES[event],
        event(1, "openat"),
        event(2, "read", f'"fhash":77,"{size}":4096'),
        event(3, "read", f'"{size}":100,"fhash":77'),
        event(4, "read", f'"fhash":77,"{size}":18446744073709551605'),  # -11, EAGAIN
        event(5, "read", f'"fhash":77,"{size}":50'),
        event(6, "pread64", f'"fhash":77,"{size}":512'),
        event(7, "lseek"),
        event(8, "read", f'"fhash":77,"{size}":10'),
        event(9, "close"),
        event(10, "openat"),
        event(11, "write", f'"fhash":77,"{size}":20'),
        event(12, "vfs_read"),
    )
    assert kind_of(log) == "dftracer"
    trace = open_trace(log)
    assert rows(trace, "/d/x") == [
        ("open", 0, -1), ("read", 4096, 0), ("read", 100, 4096), ("read", 0, 4196), ("read", 50, 4196),
        ("pread", 512, -1), ("lseek", 0, -1), ("read", 10, -1), ("close", 0, -1), ("open", 0, -1), ("write", 20, -1),
    ]  # fmt: skip
    assert trace.ranks[0].pid == 7  # "tid" is the process
    assert trace.folds.busy_ns[0] == 3000 and trace.folds.start_ns[1] == 10_000
    assert any("neither offsets, flags" in warning for warning in texts(trace.notes))


def test_what_datacrumbs_cannot_name_is_said(tmp_path: Path) -> None:
    relative = '{"id":1,"name":"FH","cat":"x","ph":"M","args":{"hash":78,"value":"here"}}'
    log = written(
        tmp_path, NAMES[of_2026], relative, of_2026(1, "read"), of_2026(2, "read", '"fhash":78,"size":4'),
        of_2026(3, "write", '"size":4'),
    )  # fmt: skip
    warnings = texts(open_trace(log).notes)
    assert any("1 operation(s) are on files" in warning for warning in warnings)
    assert any("1 operation(s) name no file" in warning for warning in warnings)
    unnamed = written(tmp_path, of_2026(1, "read", '"size":4'), of_2026(2, "write", '"size":4'))
    with pytest.raises(TraceError, match="sys_io"):
        open_trace(unnamed)


def test_counters_are_refused_with_what_to_do(tmp_path: Path) -> None:
    log = written(
        tmp_path,
        '{"id":1,"name":"read","cat":"sys","ph":"C","ts":10,"pid":9,"args":{"fhash":77,"size":4096,"frequency":3}}',
    )
    with pytest.raises(TraceError, match=r"mode 'profile'.*mode 'trace'"):
        open_trace(log)


def one_process(pid: int, rank: int | None, host: str = "h1", offset: int = 0) -> str:
    """A log of DFTracer's of a process that reads 8 B."""
    at = f'"pid":{pid},"tid":{pid}'
    mpi = f'{{"name":"PR","cat":"dftracer",{at},"ph":4,"args":{{"hhash":"{host}","name":"rank","value":"{rank}"}}}}\n'
    return (
        f'{{"name":"HH","cat":"dftracer",{at},"ph":4,"args":{{"hhash":"{host}","name":"node-{host}","value":"{host}"}}}}\n'
        f'{{"name":"FH","cat":"dftracer",{at},"ph":4,"args":{{"hhash":"{host}","name":"/d/x","value":"ab"}}}}\n'
        + (mpi if rank is not None else "")
        + f'{{"name":"pread64","cat":"POSIX",{at},"ts":{100 - pid},"dur":1,"ph":1,'
        f'"args":{{"hhash":"{host}","fhash":"ab","ret":8,"count":8,"offset":{offset}}}}}\n'
    )


def test_a_folder_of_logs_is_one_run_with_mpis_ranks(tmp_path: Path) -> None:
    for pid, rank, host in ((7, 2, "h1"), (7, 0, "h2"), (9, 1, "h1")):
        log = tmp_path / f"log-{pid}-{host}.pfw"
        log.write_text(one_process(pid, rank, host, offset=100 * rank))
    assert kind_of(tmp_path) == "dftracer"
    trace = open_trace(tmp_path)
    events = unfold(trace.folds)
    assert [(int(r), int(o)) for r, o in zip(events.rank, events.offset, strict=True)] == [
        (0, 0),
        (1, 100),
        (2, 200),
    ]
    assert [(one.host, one.pid) for one in trace.ranks] == [
        ("node-h2", 7),
        ("node-h1", 9),
        ("node-h1", 7),
    ]
    assert any("with MPI's number" in warning for warning in texts(trace.notes))


def test_a_folder_with_other_files_is_none_of_dftracers(tmp_path: Path) -> None:
    (tmp_path / "a.pfw").write_text(one_process(9, None))
    (tmp_path / "notes").write_text("no log")
    assert kind_of(tmp_path) != "dftracer"


def test_lines_that_are_cut_short_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "log.pfw"
    log.write_text((one_process(7, None) + one_process(7, None))[:-30])
    trace = open_trace(log)
    assert len(unfold(trace.folds)) == 1
    assert any("1 line(s) are cut short" in warning for warning in texts(trace.notes))


def of_process(
    name: str, file: str, category: str = "POSIX", ts: int = 1, **arguments: object
) -> str:
    """A call of DFTracer's on a file that a line before it names."""
    event = {
        "id": ts, "name": name, "cat": category, "pid": 7, "tid": 7, "ts": 10 * ts, "dur": 3, "ph": 1,
        "args": {"fhash": file, **arguments},
    }  # fmt: skip
    return json.dumps(event)


def of_names(**names: str) -> list[str]:
    return [
        json.dumps({"name": "FH", "cat": "dftracer", "pid": 7, "tid": 7, "ph": 4, "args": {"name": path, "value": value}})
        for value, path in names.items()
    ]  # fmt: skip


def test_files_named_without_their_folder_are_the_applications(tmp_path: Path) -> None:
    log = written(
        tmp_path,
        *of_names(aa="out.dat", bb="./part/../out.dat", cc="pipe:[77]"),
        of_process("open", "aa", ts=1, flags=577, ret=3),
        of_process("write", "aa", ts=2, count=100, ret=100),
        of_process("write", "bb", ts=3, count=50, ret=50),
        of_process("write", "cc", ts=4, count=7, ret=7),
    )
    trace = open_trace(log)
    assert [PurePath(file.path).name for file in trace.files] == ["out.dat"]
    assert int(unfold(trace.folds).moved.sum()) == 150
    assert any("without their folder" in text for text in texts(trace.notes))


def test_calls_that_failed_failed(tmp_path: Path) -> None:
    log = written(
        tmp_path,
        *of_names(aa="/d/missing", bb="/d/in", cc="/d/folder"),
        of_process("open", "aa", ts=1, flags=0, ret=-1),
        of_process("__xstat64", "aa", ts=2, ret=-1),
        of_process("open64", "bb", ts=3, flags=os.O_CREAT | os.O_EXCL | os.O_WRONLY, ret=-1),
        of_process("open", "bb", ts=4, flags=0, ret=3),
        of_process("read", "bb", ts=5, count=10, ret=10),
        of_process("read", "bb", ts=6, count=10, ret=-1),
        of_process("lseek", "bb", ts=7, offset=-5, whence=0, ret=-1),
        of_process("read", "bb", ts=8, count=10, ret=10),
        of_process("mkdir", "cc", ts=9, mode=0o755, ret=-1),
        of_process("fopen", "aa", "STDIO", ts=10, mode="r", ret=0),
        of_process("fread", "bb", "STDIO", ts=11, size=1, count=4, ret=0),
    )
    events = unfold(open_trace(log).folds)
    found = [
        (OPS[int(op)].name, int(error)) for op, error in zip(events.op, events.error, strict=True)
    ]
    assert found == [
        ("open", errno.ENOENT), ("stat", errno.ENOENT), ("open", errno.EEXIST), ("open", 0), ("read", 0),
        ("read", errno.EIO), ("lseek", errno.EINVAL), ("read", 0), ("mkdir", errno.EEXIST), ("open", errno.ENOENT),
        ("read", 0),
    ]  # fmt: skip
    assert [int(at) for op, at in zip(events.op, events.offset, strict=True) if OPS[int(op)].name == "read"] == [
        0, 10, 10, 20,
    ]  # fmt: skip
