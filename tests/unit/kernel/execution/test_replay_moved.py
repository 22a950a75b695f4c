"""How much ranks have moved: those of this machine, and those of hosts whose processes it does not see."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from waiting import HANG_S, until
from wavetank.cluster import moved as elsewhere
from wavetank.kernel.execution import moved as here
from wavetank.kernel.execution.moved import Moved

SIZE = 100_000
SCRIPT = 'read -r line; printf %s "$line" >/dev/null; echo moved; read -r end'


class Guest:
    """Reached by a shell of this machine, and said not to be seen from here."""

    def __init__(self, name, environment):
        self.name, self._environment = name, environment

    def reaching(self, argv, env):
        return argv, {**self._environment, **env}

    def end_marked(self, name, value): ...


@pytest.fixture
def ranks(tmp_path):
    """The word of two ranks that have moved SIZE each, beside a rank of another run and another program."""
    rank, other = tmp_path / "wavetank-replay-test", tmp_path / "wavetank-other"
    for program in (rank, other):
        program.symlink_to(shutil.which("sh"))
    word = f"--plan={tmp_path}/plan.txt"
    started = [
        subprocess.Popen([program, "-c", SCRIPT, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for program, name in ((rank, word), (rank, word), (rank, "--plan=/another"), (other, word))
    ]  # fmt: skip
    for process in started:
        process.stdin.write("x" * SIZE + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "moved\n"

    def end():
        for process in started:
            if process.poll() is None:
                process.communicate("end\n", timeout=HANG_S)

    yield word, end
    end()


def test_bytes_of_ranks_are_counted_and_of_nothing_else(ranks):
    word, end = ranks
    told = []
    moved = Moved(word, told.append)
    until(lambda: moved.look() or (told and told[-1] >= 4 * SIZE))  # read and written
    assert told[-1] < 5 * SIZE
    end()
    n = len(told)
    until(lambda: moved.look() or len(told) > n)
    assert told[-1] >= told[n - 1]  # what has ended still counts


def test_bytes_of_ranks_are_counted_on_hosts_whose_processes_are_not_seen(ranks):
    word, end = ranks
    guests = [Guest("c1", os.environ), Guest("c2", os.environ)]  # both see the same two ranks
    with elsewhere.moved_on(guests, word, every_s=0.1) as counted:
        until(lambda: counted() >= 2 * 4 * SIZE)
        assert counted() < 2 * 5 * SIZE
        before = counted()
        end()
        assert counted() >= before
    assert not [each for each in here.mentioning(word) if each.exists()]  # no loop is left


def test_hosts_whose_processes_are_seen_are_not_looked_at():
    with elsewhere.moved_on([object()], "--plan=/any") as counted:
        assert counted() == 0


def test_the_larger_of_both_counts_is_told(monkeypatch):
    monkeypatch.setattr(here, "_EVERY_S", 0.0)
    told, asked = [], []

    @contextmanager
    def counts(word):
        asked.append(word)
        yield lambda: 5 * SIZE

    with Moved("--plan=/nobody", told.append, counts) as moved:
        moved.look()
    assert (asked, told) == (["--plan=/nobody"], [5 * SIZE])
