"""A rank that dies or does not get on is named with what it was at, whatever started it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from replay_faults import environment, writers
from replay_moments import Clock, time_runs_out_when_told, when_told
from replay_run import need, replay  # first: makes kernel_models importable

import kernel_models as km  # isort: skip
from waiting import HANG_S, until
from wavetank.job import Job, Placement
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.execution.replay import ReplayOptions, run_replay
from wavetank.kernel.results.rank_status import Watch
from wavetank.kernel.results.result import ReplayResult
from wavetank.launchers.openmpi import OpenMpi
from wavetank.launchers.registry import launcher
from wavetank.model.document.program import PauseStep, Program, SyncStep

RANKS = {"none": 1, "openmpi": 2, "mpich": 2}
FOR_EVER_S = 1e6  # what a replay leaves behind is still there when the test looks
QUIET_S = 0.3  # without progress, before a rank says where it is: it does so anew when it has gone on meanwhile


def pausing_for_ever() -> PauseStep:
    return PauseStep(seconds=FOR_EVER_S)


def running(mark: str) -> list[str]:
    """Command lines of processes that mention ``mark``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if mark in command and int(process.name) != os.getpid():
            found.append(command)
    return found


def nothing_is_left(mark: str) -> None:
    """Wait until the processes of a replay that was ended are gone: they would stay for ever, and die one after the other."""
    until(lambda: not running(mark), f"the end of all processes of {mark}")


def failure_under(fault: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a replay says when its last rank meets a fault in its fourth write."""
    n_ranks = RANKS[name]
    for variable, value in environment(folder, fault, n_ranks - 1, 3).items():
        monkeypatch.setenv(variable, value)
    result, root = replay(writers(n_ranks), folder, name)
    monkeypatch.delenv("LD_PRELOAD")
    assert result.status == "failed" and result.phases == ()
    nothing_is_left(str(root))
    return result.failure or ""


@pytest.mark.parametrize(
    ("name", "fault", "how"),
    [
        ("none", "s9", "signal 9, Killed"),
        ("none", "x0", "it exited with status 0"),
        ("openmpi", "s7", "signal 7, Bus error"),
        ("openmpi", "s9", "signal 9, Killed"),
        ("openmpi", "x3", "it exited with status 3"),
        ("openmpi", "x0", "it exited with status 0"),
        ("mpich", "s11", "signal 11, Segmentation fault"),
        ("mpich", "x0", "it exited with status 0"),
    ],
)
def test_a_rank_that_dies_is_named_with_its_call(tmp_path, monkeypatch, name, fault, how):
    last = RANKS[name] - 1
    assert failure_under(fault, name, tmp_path, monkeypatch) == (
        f"rank {last} died ({how}) in pwrite of out-{last} at offset 12288 (4096 bytes)"
    )


@pytest.mark.parametrize(
    ("name", "number"), [("none", errno.EIO), ("openmpi", errno.ENOSPC), ("openmpi", errno.ESTALE)]
)
def test_an_error_is_named_with_rank_file_offset_and_call(tmp_path, monkeypatch, name, number):
    last = RANKS[name] - 1
    assert failure_under(f"e{number}", name, tmp_path, monkeypatch) == (
        f"rank {last} pwrite of out-{last} at offset 12288 (4096 bytes): {os.strerror(number)}"
    )


@pytest.mark.parametrize("name", ["none", "openmpi"])
def test_a_byte_that_was_written_wrong_is_found_where_it_is_read(tmp_path, monkeypatch, name):
    last = RANKS[name] - 1
    for variable, value in environment(tmp_path, "c1000", last, 3).items():
        monkeypatch.setenv(variable, value)
    made = writers(RANKS[name], read_back=True)
    result, _ = replay(made, tmp_path, name, ReplayOptions(verify=True, timeout_s=HANG_S))
    # the fourth write starts at 3 * 4096 = 12288; its byte 1000 is the file's byte 13288
    assert result.failure == (
        f"rank {last} pread of out-{last} at offset 13288 (4096 bytes): a wrong byte was read at offset 13288 of the "
        "file"
    )


def test_a_zero_where_the_pattern_is_expected_is_told_as_such(tmp_path):
    """A write that was lost. The kernel reads 100 bytes from 50 on first."""
    _, root = replay(km.irregular(), tmp_path, "none")
    data = bytearray((root / "index").read_bytes())
    data[60:70] = bytes(10)
    (root / "index").write_bytes(data)
    options = ReplayOptions(verify=True, timeout_s=HANG_S)
    result, _ = replay(km.irregular(), tmp_path, "none", options, prepare=False)
    assert result.failure == (
        "rank 0 read of index at offset 60 (100 bytes): a wrong byte was read at offset 60 of the file (a zero: what was "
        "written is lost)"
    )


def test_a_rank_that_pauses_before_its_first_call_is_told_as_such(tmp_path, monkeypatch):
    made = writers(1)
    steps = (pausing_for_ever(), *made.programs[0].steps)
    made = made.model_copy(update={"programs": (Program(ranks=(0,), steps=steps),)})
    time_runs_out_when_told(monkeypatch, "rank 0 pauses")
    options = ReplayOptions(timeout_s=HANG_S, patience_s=QUIET_S, pauses="keep")
    result, _ = replay(made, tmp_path, "none", options)
    assert result.failure == "the time limit of 900 s ran out: rank 0 pauses (step 1 of 5)"


def test_ranks_that_wait_for_each_other_in_a_circle_are_ended_and_named(tmp_path):
    """Each pair agrees on its communicator, so that only running shows it: 0 waits for 1, 1 for 2, 2 for 0."""
    pairs = ((0, 1), (0, 2), (1, 2))
    orders = ((0, 1), (2, 0), (1, 2))  # communicators, by rank
    made = writers(3)
    programs = tuple(
        Program(
            ranks=(rank,),
            steps=(*program.steps[:3], *(SyncStep(communicator=index) for index in order)),
        )
        for rank, (program, order) in enumerate(zip(made.programs, orders, strict=True))
    )
    made = made.model_copy(update={"programs": programs, "communicators": pairs})
    told: list[str] = []
    options = ReplayOptions(timeout_s=HANG_S, patience_s=QUIET_S)
    result, root = replay(made, tmp_path, "openmpi", options, tell=told.append)
    assert result.failure == (
        "all ranks wait for each other: rank 0 waits in barrier on communicator 0 (step 4 of 5), rank 1 waits in "
        "barrier on communicator 2 (step 4 of 5), rank 2 waits in barrier on communicator 1 (step 4 of 5)"
    )
    waiting = [sentence for sentence in told if " waits in barrier on communicator " in sentence]
    assert {sentence.split(": ")[1][:6] for sentence in waiting} == {"rank 0", "rank 1", "rank 2"}
    nothing_is_left(str(root))


def test_ranks_that_wait_for_each_other_inside_of_mpi_are_ended_and_named(tmp_path):
    """A collective open does not return to any rank when it does not to one: of a FIFO that nobody writes."""
    made = km.btio(1, n_ranks=2)
    programs = tuple(
        Program(
            ranks=program.ranks,
            steps=(
                program.steps[0].model_copy(update={"mpi_mode": km.MPI_RDONLY}),
                *program.steps[1:],
            ),
        )
        for program in made.programs
    )
    made = made.model_copy(update={"programs": programs})
    (tmp_path / "root").mkdir()
    os.mkfifo(tmp_path / "root/btio.full.out")
    options = ReplayOptions(timeout_s=HANG_S, patience_s=QUIET_S, stuck_patience_s=1)
    result, root = replay(made, tmp_path, "openmpi", options, prepare=False)
    assert (result.failure or "").startswith("all ranks wait for each other: rank 0 is in ")
    assert "MPI_File_open of btio.full.out" in (result.failure or "")
    nothing_is_left(str(root))


def test_a_rank_that_hangs_in_a_call_is_told_and_named_at_the_time_limit(tmp_path, monkeypatch):
    for variable, value in environment(tmp_path, "z0", 1, 3).items():
        monkeypatch.setenv(variable, value)
    told: list[str] = []
    time_runs_out_when_told(monkeypatch, "rank 1 is in pwrite")
    options = ReplayOptions(timeout_s=HANG_S, patience_s=QUIET_S)
    result, root = replay(writers(2), tmp_path, "openmpi", options, tell=told.append)
    monkeypatch.delenv("LD_PRELOAD")
    assert "rank 1 is in pwrite of out-1 at offset 12288 (4096 bytes) (step 2 of " in (
        result.failure or ""
    )
    assert any("rank 1 is in pwrite of out-1" in sentence for sentence in told)
    nothing_is_left(str(root))


def test_a_watching_process_that_is_killed_takes_its_rank_with_it(tmp_path, monkeypatch):
    made = writers(1)
    steps = (pausing_for_ever(), *made.programs[0].steps)
    made = made.model_copy(update={"programs": (Program(ranks=(0,), steps=steps),)})
    monkeypatch.setenv("WAVETANK_TEST_MARK", str(tmp_path))
    killed: list[int] = []

    def kill() -> None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = str(tmp_path) in (process / "environ").read_text()
                name = (process / "comm").read_text().strip()
            except OSError:
                continue
            if is_ours and name == "wavetank-watch":
                os.kill(int(process.name), signal.SIGKILL)
                killed.append(int(process.name))

    when_told(monkeypatch, "rank 0 pauses", do=kill)
    options = ReplayOptions(timeout_s=HANG_S, patience_s=QUIET_S, pauses="keep")
    result, root = replay(made, tmp_path, "none", options)
    assert len(killed) == 1 and result.status == "failed" and "signal 9" in (result.failure or "")
    nothing_is_left(str(root))


def test_a_rank_that_is_stopped_is_named_with_those_that_wait_for_it(tmp_path, monkeypatch):
    """Ended, it is continued first, and the others would seem to move."""
    for variable, value in environment(tmp_path, f"s{signal.SIGSTOP}", 1, 3).items():
        monkeypatch.setenv(variable, value)
    at = "rank 1 is in pwrite of out-1 at offset 12288 (4096 bytes)"
    waits = "rank 0 waits in barrier on communicator 0"
    time_runs_out_when_told(monkeypatch, waits, at)
    options = ReplayOptions(timeout_s=HANG_S, patience_s=QUIET_S)
    result, root = replay(writers(2), tmp_path, "openmpi", options)
    monkeypatch.delenv("LD_PRELOAD")
    failure = result.failure or ""
    assert "time limit" in failure and waits in failure and at in failure
    nothing_is_left(str(root))


def test_a_replay_that_is_killed_takes_its_ranks_with_it(tmp_path):
    need("openmpi")
    made = writers(2)
    programs = tuple(
        program.model_copy(update={"steps": (pausing_for_ever(), *program.steps)})
        for program in made.programs
    )
    made = made.model_copy(update={"programs": programs})
    make_kernel(made, km.written(made, tmp_path)).write(tmp_path / "kernel.json")
    root = tmp_path / "root"
    root.mkdir()
    argv = [sys.executable, "-c", "from wavetank.cli.main import main; main()", "replay",
            str(tmp_path / "kernel.json"), "--root", str(root), "--launcher", "openmpi", "--pauses=keep"]  # fmt: skip
    with subprocess.Popen(argv) as tool:
        until(lambda: len(running(f"--root={root}")) >= 2, "the ranks")
        tool.kill()
    nothing_is_left(str(root))


class Stalled(OpenMpi):
    """Starts a shell script in the place of the ranks: one that ends nothing when it is asked to."""

    def __init__(self, script: str, name: str = "openmpi") -> None:
        self.script, self.name = script, name

    def command(self, job: Job, scratch: Path) -> list[str]:
        # the last words are those by which processes that are left are found
        return ["sh", "-c", self.script, *job.argv]


START_S = 300  # for the launcher to start all ranks
STAYS = f"sleep {FOR_EVER_S:.0f}"


@pytest.fixture
def impatient(monkeypatch):
    """Between asking launchers to end and killing them."""
    monkeypatch.setattr("wavetank.kernel.execution.child_process._GRACE_S", 0.5)


def started_by(stalled: Stalled, folder: Path, end_s: float = HANG_S) -> ReplayResult:
    need("openmpi")
    made = writers(3)
    kernel = make_kernel(made, km.written(made, folder))
    options = ReplayOptions(start_patience_s=START_S, end_patience_s=end_s, timeout_s=HANG_S)
    placement = Placement(hosts=(("n1", 2), ("n2", 1)))
    return run_replay(kernel, folder, stalled, folder, placement, options)


def test_a_launcher_that_does_not_start_its_ranks_is_ended_and_its_hosts_are_named(
    tmp_path, monkeypatch, impatient
):
    said = tmp_path / "said"
    script = f"echo no route to n2 >&2; touch {said}; {STAYS} & {STAYS}"
    monkeypatch.setattr("wavetank.kernel.execution.child_process.time", Clock(said.exists, START_S))
    result = started_by(Stalled(script), tmp_path)
    assert result.status == "failed"
    assert result.failure == (
        "the launcher openmpi had not started all ranks after 300 s (MPI_Init was not through); it was to start them on "
        "n1, n2. It said: no route to n2. See whether its processes run there, and whether the hosts reach each other"
    )
    nothing_is_left(str(tmp_path))


@pytest.mark.parametrize(
    ("before", "name"), [("echo wavetank-replay-started", "openmpi"), (":", "srun")]
)
def test_ranks_that_have_started_and_a_queue_may_take_any_time(tmp_path, monkeypatch, before, name):
    """The launcher ends by itself after its limits were looked at, with more than the patience gone by."""
    late, seen = tmp_path / "late", tmp_path / "seen"
    script = f"{before}; touch {late}; until test -e {seen}; do sleep 0.1; done"
    started: list[bool] = []  # the line may be read after the file is there

    class Followed(Watch):
        def line(self, line: str) -> bool:
            is_stuck = super().line(line)
            if self.has_started:
                started.append(True)
            return is_stuck

    monkeypatch.setattr("wavetank.kernel.execution.replay.Watch", Followed)
    clock = Clock(
        lambda: bool(started) if name == "openmpi" else late.exists(), START_S, seen.touch
    )
    monkeypatch.setattr("wavetank.kernel.execution.child_process.time", clock)
    result = started_by(Stalled(script, name), tmp_path)
    assert seen.exists()
    assert "the launcher ended with status 0" in (result.failure or "")


def test_a_launcher_that_does_not_end_when_the_run_is_over_is_ended_and_the_result_counts(
    tmp_path, impatient
):
    """As Open MPI's mpirun, whose threads now and then wait for each other when all ranks are gone."""
    run = 'mpirun.openmpi --allow-run-as-root --oversubscribe -n 3 "$0" "$@"'
    result = started_by(Stalled(f"{run}; {STAYS}"), tmp_path, end_s=0.5)
    assert result.status == "ok", result.failure
    assert "did not end by itself" in result.settings["launcher_end"]
    assert sum(phase.operations for phase in result.phases) > 0
    nothing_is_left(str(tmp_path))


def test_a_failure_is_told_though_the_launcher_does_not_end(tmp_path, impatient):
    told = '{"rank": 1, "call": "write", "file": "out-1", "offset": 0, "size": 9, "at_ns": 1, "reason": "No space left"}'
    script = f"echo wavetank-replay-started; echo 'wavetank-replay-failure {told}'; {STAYS}"
    result = started_by(Stalled(script), tmp_path, end_s=0.5)
    assert result.failure == "rank 1 write of out-1 at offset 0 (9 bytes): No space left"
    nothing_is_left(str(tmp_path))


@pytest.mark.parametrize("name", RANKS)
def test_a_replay_says_when_its_ranks_have_started(tmp_path, name):
    need(name)
    made = writers(RANKS[name])
    kernel = make_kernel(made, km.written(made, tmp_path))
    said: list[str] = []
    result = run_replay(
        kernel, tmp_path, launcher(name), tmp_path, on_output=lambda out, _: said.append(out)
    )
    assert result.status == "ok", result.failure
    assert said[0].count("wavetank-replay-started") == 1
