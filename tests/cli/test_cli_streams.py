"""Standard streams go silent, instead of failing, once their reader is gone."""

import os
import subprocess
import sys

import pytest

from waiting import HANG_S

OUTLIVE = "import sys; from wavetank.cli.streams import outlive_readers; outlive_readers(); "


def run(code, **streams):
    return subprocess.run(
        [sys.executable, "-c", OUTLIVE + code], timeout=HANG_S, check=False, **streams
    )


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_what_is_printed_without_a_reader_is_dropped(name, tmp_path):
    read, write = os.pipe()
    os.close(read)
    try:
        ended = run(
            f"print('a' * 100_000, file=sys.{name}, flush=True); print('b', file=sys.{name}); "
            f"open({str(tmp_path / 'done')!r}, 'w').close()",
            **{name: write},
        )
    finally:
        os.close(write)
    assert ended.returncode == 0
    assert (tmp_path / "done").exists()


def test_programs_started_later_can_write_too(tmp_path):
    read, write = os.pipe()
    os.close(read)
    try:
        ended = run(
            "import subprocess; print('x', file=sys.stderr); "
            "raise SystemExit(subprocess.run(['sh', '-c', 'echo y >&2']).returncode)",
            stderr=write,
        )
    finally:
        os.close(write)
    assert ended.returncode == 0


def test_on_a_terminal_standard_error_breaks_between_words_and_in_a_log_not_at_all(tmp_path):
    import pty

    said = "print('wavetank: ' + 'sentence ' * 20 + 'end', file=sys.stderr)"
    primary, terminal = pty.openpty()
    assert run(said, stderr=terminal, env={**os.environ, "COLUMNS": "80"}).returncode == 0
    lines = os.read(primary, 4096).decode().splitlines()
    for fd in (primary, terminal):
        os.close(fd)
    assert max(map(len, lines)) <= 80 and len(lines) > 1
    assert " ".join(lines).split() == ["wavetank:", *["sentence"] * 20, "end"]
    with open(tmp_path / "log", "w") as log:
        run(said, stderr=log)
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def test_progress_that_does_not_fit_the_disk_is_dropped():
    with open("/dev/full", "w") as full:
        assert run("print('progress', file=sys.stderr)", stderr=full).returncode == 0


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_result_that_does_not_fit_the_disk_is_one_line_and_a_failure(form):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "wavetank", "instances", "find", "--processes", "4", "--format", form],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANG_S, check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == (
        "wavetank: cannot write to standard output: No space left on device"
    )
    assert "Traceback" not in ended.stderr


def test_what_is_read_is_printed_as_ever():
    ended = run("print('ä'); print('é', file=sys.stderr)", capture_output=True)
    assert (ended.stdout.decode(), ended.stderr.decode()) == ("ä\n", "é\n")
