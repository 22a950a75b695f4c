"""Forms of strace's lines: the documented options leave the same operations in every version; logs of others are refused.

Sample lines follow strace 6.1 (tried here) and, where said, the tests and sources of strace 6.9 to 7.2.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import HANG_S
from wavetank.errors import TraceError
from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.importers.strace_arguments import unescaped
from wavetank.trace.open import kind_of, open_trace
from wavetank.trace.ops import OPS
from wavetank.trace.schema import Trace

# Leader, call, result: what all options show in one way or another.
PLAIN = [
    'openat(AT_FDCWD</data>, "x", O_RDWR|O_CREAT, 0666) = 3</data/x>',
    'write(3</data/x>, "abc"..., 1000) = 1000',
    'pwrite64(3</data/x>, "abc"..., 500, 4096) = 500',
    "lseek(3</data/x>, 100, SEEK_SET) = 100",
    'read(3</data/x>, "abc"..., 64) = 64',
    "close(3</data/x>) = 0",
]
KNOWN = [("open", 0, 0), ("write", 1000, 0), ("pwrite", 500, 4096), ("lseek", 0, 100), ("read", 64, 100), ("close", 0, 0)]  # fmt: skip


def written(where: Path, lines: list[str]) -> Path:
    path = where / "log"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def rows(trace: Trace, name: str = "/data/x") -> list[tuple[str, int, int]]:
    """Calls on a file: name, bytes, offset (0 where it has none)."""
    events = unfold(trace.folds)
    return [
        (OPS[int(events.op[i])].name, int(events.size[i]), max(int(events.offset[i]), 0))
        for i in range(len(events))
        if trace.files[events.file[i]].path == name
    ]


def shown(log: Path, name: str = "/data/x") -> list[tuple[str, int, int]]:
    assert kind_of(log) == "strace"
    return rows(open_trace(log), name)


def led(i: int, call: str, leader: str) -> str:
    return f"{leader.format(i=i)}{call} <0.000010>"


OTHERS = {
    "-f --timestamps=unix,s": "7     170000000{i} ",
    "-f -tt": "7     12:34:5{i}.000001 ",
    "-f -t": "7     12:34:5{i} ",
    "-f -r": "7          0.00000{i} ",
    "-f -t -r": "7     12:34:5{i} (+     0.000010) ",
    "-f on a terminal": "[pid     7] 170000000{i}.000001 ",
    "-f -Y": "7<my prog> 170000000{i}.000001 ",
    "-n": "7     170000000{i}.000001 [ 257] ",
    "-i": "7     170000000{i}.000001 [00007f51a2f3c1d2] ",
    "--secontext": "7     [user_u:role_r:type_t:s0] 170000000{i}.000001 ",
    "--color=always, 7.0": "\x1b[2m7\x1b[0m     \x1b[36m170000000{i}.000001\x1b[0m ",
    "no pids": "170000000{i}.000001 ",
    "no pids, no times": "",
}


@pytest.mark.parametrize(
    "leader", ["7     170000000{i}.000001 ", "7     170000000{i}.000001234 "], ids=["us", "ns"]
)
def test_lines_with_process_and_time_are_read(tmp_path: Path, leader: str) -> None:
    log = written(tmp_path, [led(i, call, leader) for i, call in enumerate(PLAIN)])
    assert shown(log) == KNOWN
    trace = open_trace(log)
    assert trace.started_utc is not None
    assert [int(start) for start in trace.folds.start_ns] == [i * 10**9 for i in range(6)]


@pytest.mark.parametrize("leader", OTHERS.values(), ids=OTHERS)
def test_lines_of_other_options_are_refused_with_the_command(tmp_path: Path, leader: str) -> None:
    log = written(tmp_path, [led(i, call, leader) for i, call in enumerate(PLAIN)])
    assert kind_of(log) == "strace"
    with pytest.raises(TraceError, match=r"line 1: .*Make it by: strace -f -v -ttt -y -T"):
        open_trace(log)


@pytest.mark.parametrize(
    "call",
    [
        'openat(dirfd=AT_FDCWD</data>, pathname="x", flags=O_RDWR|O_CREAT, mode=0666) = 3</data/x>',
        'openat(-100</data>, "x", 0x42, 0666) = 3</data/x>',
        'openat(-100</data>, "x", 0) = 3</data/x>',
        'openat(-100 /* AT_FDCWD */</data>, "x", 0x42 /* O_RDWR|O_CREAT */, 0666) = 3</data/x>',
        "lseek(3</data/x>, 100, 0) = 100",
        "lseek(3</data/x>, 100, 0 /* SEEK_SET */) = 100",
        'openat(AT_FDCWD<\\x2f\\x64>, "\\x78", O_RDWR|O_CREAT, 0666) = 3<\\x2f\\x64\\x2f\\x78>',
    ],
)
def test_arguments_of_other_options_are_refused_with_the_command(tmp_path: Path, call: str) -> None:
    log = written(tmp_path, [led(i, text, "7     170000000{i}.000001 ") for i, text in enumerate([PLAIN[0], call])])  # fmt: skip
    with pytest.raises(TraceError, match=r"line 2: .*Make it by: strace -f -v -ttt -y -T"):
        open_trace(log)


def test_flags_and_strings_that_look_like_another_form_are_none(tmp_path: Path) -> None:
    calls = [
        'openat(AT_FDCWD</data>, "x /* O_RDWR */, 0x42", O_RDWR|O_CREAT|0x40000000 /* O_??? */, 000) = 3</data/x>',
        *PLAIN[1:3], "lseek(3</data/x>, 100, SEEK_SET) = 100", *PLAIN[4:],
    ]  # fmt: skip
    log = written(tmp_path, [led(i, call, "7     170000000{i}.000001 ") for i, call in enumerate(calls)])  # fmt: skip
    assert shown(log) == KNOWN


FORMS = {
    "-yy, devices and sockets": [
        'read(0</dev/pts/3<char 136:3>>, "a", 1) = 1',
        'write(4<TCP:[127.0.0.1:80->127.0.0.1:4242]>, "a", 1) = 1',
        *PLAIN,
        'sendto(5<UNIX-STREAM:[7->9,"/run/s"]>, "a", 1, 0, NULL, 0) = 1',
    ],
    "-y, deleted files": [
        PLAIN[0], *(call.replace("3</data/x>", "3</data/x>(deleted)") for call in PLAIN[1:]),
    ],
    "openat2": [
        'openat2(AT_FDCWD</data>, "x", {flags=O_RDWR|O_CREAT, mode=0666, resolve=RESOLVE_BENEATH}, 24) = 3</data/x>',
        *PLAIN[1:],
    ],
    "preadv2 and pwritev2 with flags": [
        PLAIN[0], PLAIN[1],
        'pwritev2(3</data/x>, [{iov_base="abc", iov_len=500}], 1, 4096, RWF_DSYNC|RWF_ATOMIC) = 500', *PLAIN[3:],
    ],
    "-k": [line for call in PLAIN for line in (call, " > /usr/lib/libc.so.6(read+0x10) [0xf7b20]")],
    "signals and ends": [
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=8} ---", *PLAIN, "+++ exited with 0 +++",
    ],
    "-e inject": [*PLAIN[:2], PLAIN[2].replace("= 500", "= 500 (INJECTED)"), *PLAIN[3:]],
    "-z and unavailable results": [*PLAIN, 'exit_group(0) = ?'],
}  # fmt: skip


@pytest.mark.parametrize("calls", FORMS.values(), ids=FORMS)
def test_forms_of_calls_are_read(tmp_path: Path, calls: list[str]) -> None:
    lines = [
        call if call.startswith(" >") else f"7 170000000{i % 10}.{i:06} {call}"
        for i, call in enumerate(calls)
    ]
    log = written(tmp_path, lines)
    found = [(call.replace("pwritev", "pwrite"), *rest) for call, *rest in shown(log)]
    assert found == KNOWN
    folds = open_trace(log).folds
    flags = folds.details.flags[folds.given[0]]
    assert flags & (os.O_RDWR | os.O_CREAT) == os.O_RDWR | os.O_CREAT


def test_files_are_followed_without_their_paths_where_opens_name_them(tmp_path: Path) -> None:
    calls = [
        'openat(AT_FDCWD, "/data/x", O_RDWR|O_CREAT, 0666) = 3 <0.000005>',
        'write(3, "abc"..., 1000) = 1000 <0.000005>',
        'pwrite64(3, "abc"..., 500, 4096) = 500 <0.000005>',
        "lseek(3, 100, SEEK_SET) = 100 <0.000005>",
        'read(3, "abc"..., 64) = 64 <0.000005>',
        "close(3) = 0 <0.000005>",
        'write(1, "done\\n", 5) = 5 <0.000005>',
        "socket(AF_UNIX, SOCK_STREAM, 0) = 3 <0.000005>",
        'write(3, "x", 1) = 1 <0.000005>',
    ]
    log = written(tmp_path, [f"7 170000000{i}.000001 {call}" for i, call in enumerate(calls)])
    assert shown(log) == KNOWN
    assert not any("left out" in warning for warning in texts(open_trace(log).notes))


def test_calls_whose_files_nothing_names_are_said(tmp_path: Path) -> None:
    calls = ['read(5, "a", 1) = 1', 'openat(AT_FDCWD, "here", O_RDONLY) = 4', 'read(4, "a", 1) = 1']
    with pytest.raises(TraceError, match=r"names no file of 2 calls.*-y"):
        open_trace(written(tmp_path, [f"7 1700000000.1 {call}" for call in calls]))
    log = written(tmp_path, [f"7 1700000000.1 {call}" for call in (*calls, *PLAIN)])
    (said,) = [w for w in texts(open_trace(log).notes) if "does not name their files" in w]
    assert said.startswith("2 call(s)")


def test_requests_that_strace_does_not_show_are_said(tmp_path: Path) -> None:
    calls = [
        "io_uring_setup(64, {flags=0, sq_entries=64}) = 5<anon_inode:[io_uring]>",
        *PLAIN,
        "io_uring_enter(5<anon_inode:[io_uring]>, 8, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 8",
        "io_uring_enter(5<anon_inode:[io_uring]>, 3, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 3",
        "io_submit(0x7f0000000000, 2, [...]) = 2",
    ]
    warnings = texts(open_trace(written(tmp_path, [f"7 1700000000.1 {c}" for c in calls])).notes)
    assert any("11 request(s) by io_uring_enter" in warning for warning in warnings)
    assert any("2 request(s) by io_submit" in warning for warning in warnings)


def test_halves_of_calls_are_joined_in_every_place(tmp_path: Path) -> None:
    lines = [
        f"7 1700000000.1 {PLAIN[0]}",
        '7 1700000000.2 openat(AT_FDCWD</data>, "y", O_WRONLY|O_CREAT, 0666) = 4</data/y>',
        "7 1700000000.3 copy_file_range(3</data/x>,  <unfinished ...>",
        "8 1700000000.4 read(9<pipe:[7]>,  <unfinished ...>",
        "7 1700000000.5 <... copy_file_range resumed>NULL, 4</data/y>, NULL, 100, 0) = 100 <0.1>",
        '8 1700000000.6 <... read resumed>"a", 1) = 1 <0.2>',
        "7 1700000000.7 write(3</data/x>, <unfinished ...>",
        "7 1700000000.8 +++ killed by SIGKILL +++",
    ]
    trace = open_trace(written(tmp_path, lines))
    assert rows(trace) == [("open", 0, 0), ("copy_file_range", 100, 0)]
    assert rows(trace, "/data/y") == [("open", 0, 0), ("copy_file_range_to", 100, 0)]
    assert any("1 call(s) have only one half" in warning for warning in texts(trace.notes))


def test_a_threads_execve_goes_on_under_the_process(tmp_path: Path) -> None:
    lines = [
        "7 1700000000.1 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD}, 88) = 8",
        '8 1700000000.2 execve("/bin/app", ["app", "-v"], 0x7ffd /* 9 vars */ <unfinished ...>',
        "7 1700000000.3 +++ superseded by execve in pid 8 +++",
        "7 1700000000.4 <... execve resumed>) = 0",
        *(f"7 1700000001.{i} {call}" for i, call in enumerate(PLAIN)),
    ]
    trace = open_trace(written(tmp_path, lines))
    assert trace.command == ("app", "-v") and rows(trace) == KNOWN
    assert not any("half" in warning for warning in texts(trace.notes))


def test_a_child_in_a_namespace_of_its_own_is_known_by_straces_number(tmp_path: Path) -> None:
    lines = [
        f"7 1700000000.1 {PLAIN[0]}",
        "7 1700000000.2 clone(child_stack=NULL, flags=CLONE_NEWPID|SIGCHLD) = 2 /* 9 in strace's PID NS */",
        '9 1700000000.3 write(3, "abc", 3) = 3',
    ]
    trace = open_trace(written(tmp_path, lines))
    assert rows(trace) == [("open", 0, 0), ("write", 3, 0)]


def test_calls_without_a_result_are_said(tmp_path: Path) -> None:
    lines = [f"7 1700000000.{i} {call}" for i, call in enumerate(PLAIN)]
    again = '7 1700000001.0 read(3</data/x>, 0x7f, 8) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)'  # fmt: skip
    ends = "7 1700000001.1 exit_group(0) = ?"
    lost = "7 1700000001.2 write(3</data/x>, 0x7f, 8) = ? <unavailable>"
    warnings = texts(open_trace(written(tmp_path, [*lines, again, ends])).notes)
    assert not any("no result" in warning for warning in warnings)
    warnings = texts(open_trace(written(tmp_path, [*lines, again, lost, ends])).notes)
    assert any("1 call(s) have no result" in warning for warning in warnings)


def test_a_summary_is_no_log_and_says_what_to_do(tmp_path: Path) -> None:
    log = written(tmp_path, [
        "% time     seconds  usecs/call     calls    errors syscall",
        "------ ----------- ----------- --------- --------- ----------------",
        " 50.00    0.000010           1        10           read",
    ])  # fmt: skip
    with pytest.raises(TraceError, match=r"summary.*strace -f -v -ttt -y -T"):
        open_trace(log)


def test_names_with_escapes_are_the_files_own(tmp_path: Path) -> None:
    assert unescaped("/data/\\303\\244 \\76\\n") == "/data/ä >\n"
    log = written(tmp_path, ['7 1700000000.1 read(3</data/\\303\\244\\76>, "a", 1) = 1'])
    assert [file.path for file in open_trace(log).files] == ["/data/ä>"]


def test_opens_that_fail_have_their_path_from_the_directory(tmp_path: Path) -> None:
    line = '7 1700000000.1 openat(AT_FDCWD</data>, "sub/../none", O_RDONLY) = -1 ENOENT (No such file or directory)'  # fmt: skip
    assert [file.path for file in open_trace(written(tmp_path, [line])).files] == ["/data/none"]


PROGRAM = """
import os, sys
fd = os.open("x", os.O_RDWR | os.O_CREAT)
os.write(fd, b"a" * 1000); os.pwrite(fd, b"b" * 500, 4096)
os.lseek(fd, 100, os.SEEK_SET); os.read(fd, 64); os.close(fd)
"""
REAL = [
    "-f -v -ttt -y -T", "-f -ttt -y -T", "-f -ttt -yy -T", "-f --seccomp-bpf -ttt -y -T -e trace=%file,%desc", "-f -ttt -y -T -C",
]  # fmt: skip


@pytest.mark.parametrize("options", REAL)
def test_options_of_the_installed_strace_are_read(tmp_path: Path, options: str) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    log = tmp_path / "log"
    argv = [strace, *options.split(), "-o", str(log), sys.executable, "-S", "-c", PROGRAM]
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False)  # fmt: skip
    if ran.returncode:
        pytest.skip(f"strace {options} does not work here: {ran.stderr[-200:]}")
    assert shown(log, str(tmp_path / "x")) == KNOWN
