"""How far long work is, on standard error."""

import json
import logging
import os
import subprocess
import sys

import pytest

from waiting import HANG_S
from wavetank.cli import going_on, main
from wavetank.cli.progress import Progress, show_steps
from wavetank.steps import STEPS, doing, steps
from wavetank.trace import packed


@pytest.fixture(autouse=True)
def as_before():
    """The handlers that other tests' commands left."""
    logger = logging.getLogger(STEPS)
    before, level = list(logger.handlers), logger.level
    yield
    logger.handlers[:] = before
    logger.setLevel(level)


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by hand."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def work(clock):
    with doing("reading big.log", 1000 * 2**20, "B") as reading:
        for second in range(1, 26):
            clock[0] += 1
            reading.at(second * 40 * 2**20)


def test_a_log_has_a_line_now_and_then(clock, capsys):
    show_steps("lines")
    work(clock)
    assert capsys.readouterr().err.splitlines() == [
        "[  10.0 s] reading big.log: 40 % of 1000.0 MiB, about 15 s left",
        "[  20.0 s] reading big.log: 80 % of 1000.0 MiB, about 5 s left",
    ]


def test_measurements_are_told_each_with_the_plans_estimate(clock, capsys):
    show_steps("auto")  # no terminal
    with Progress("abyss") as progress:
        progress.says("bringing up nfs")
        progress.at(1, 2, 120.0)
        progress.at(2, 2, 0.0)
    assert capsys.readouterr().err.splitlines() == [
        "[   0.0 s] bringing up nfs",
        "[   0.0 s] 1 of 2 measurements done, about 2 min left",
        "[   0.0 s] 2 of 2 measurements done",
    ]


def test_programs_get_an_object_a_line(clock, capsys):
    show_steps("json")
    steps.info("bringing up %s", "nfs")
    work(clock)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == {"time_s": 0.0, "event": "step", "text": "bringing up nfs"}
    assert [line["state"] for line in lines[1:]] == ["begun", *["going"] * 25, "ended"]
    assert lines[11] == {
        "time_s": 10.0, "event": "progress", "state": "going", "what": "reading big.log", "done": 400 * 2**20,
        "total": 1000 * 2**20, "unit": "B", "elapsed_s": 10.0, "left_s": 15.0,
    }  # fmt: skip


def test_a_terminal_has_one_line_that_is_rewritten():
    code = (
        "import sys, time, click; from wavetank.cli.streams import outlive_readers; outlive_readers()\n"
        "from wavetank.cli.progress import show_steps; from wavetank.steps import doing, steps\n"
        "show_steps('auto')\n"
        "(display,) = steps.handlers\n"
        "with doing('reading big.log', 100, 'B') as reading:\n"
        "    while display._bar is None: time.sleep(0.02)\n"
        "    reading.at(42); steps.info('a sentence'); time.sleep(0.2)\n"
        "    click.echo('somebody else', err=True); time.sleep(0.2)\n"
        "print('end', file=sys.stderr)"
    )
    primary, terminal = os.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    subprocess.run(
        [sys.executable, "-c", code], stderr=terminal, timeout=HANG_S, check=True, env=environment
    )
    shown = os.read(primary, 1 << 16).decode()
    for fd in (primary, terminal):
        os.close(fd)
    assert "reading big.log: 42 % of 100 B" in shown and "a sentence\r\n" in shown
    assert "\r\x1b[2Ksomebody else\r\n" in shown  # and not behind the line
    # The line is gone at the end: it was erased, and the next text is where it was.
    assert shown.endswith("\x1b[1A\x1b[2Kend\r\n")


@pytest.mark.parametrize("kind", ["plain", "gzip"])
def test_lines_of_a_log_tell_how_many_bytes_were_read(tmp_path, capsys, kind):
    import gzip

    text = b"".join(b"%d\n" % n for n in range(25_000))
    path = tmp_path / "a.log"
    path.write_bytes(text if kind == "plain" else gzip.compress(text))
    show_steps("json")
    assert sum(1 for _ in packed.lines(path)) == 25_000
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert told[0]["total"] == path.stat().st_size and told[-1]["state"] == "ended"
    assert 0 < told[-1]["done"] <= told[-1]["total"]


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("model", "; nothing was written. Run again: wavetank model 'a b.trace'"),
        ("cluster", ". Run again: wavetank cluster 'a b.trace'"),
        ("run", ""),  # says itself how much it keeps
    ],
)
def test_an_interrupted_command_says_how_to_go_on(monkeypatch, capsys, command, left):
    def interrupted(**_):
        going_on.asked[:] = [command]
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["wavetank", command, "a b.trace"])
    monkeypatch.setattr(main.cli, "main", interrupted)
    monkeypatch.setattr(main, "outlive_readers", lambda: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == f"wavetank: interrupted{left}\n"
