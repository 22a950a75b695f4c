"""What is said of ranks that died or make no progress."""

from __future__ import annotations

import json

import pytest

from wavetank.kernel.execution.replay import ReplayOptions
from wavetank.kernel.results.rank_status import Watch
from wavetank.kernel.results.replay_output import outcome

READING = {
    "rank": 1, "call": "read", "file": "in", "offset": 5, "size": 7, "step": 2, "steps": 9, "state": "works",
    "seconds": 60.0,
}  # fmt: skip
IN_BARRIER = {**READING, "call": "barrier", "file": "communicator 3", "offset": -1, "size": -1}


def waiting(rank: int, state: str, **more: object) -> str:
    return f"wavetank-replay-waiting {json.dumps({**IN_BARRIER, 'rank': rank, 'state': state, **more})}\n"


def failure(*records: dict[str, object]) -> str | None:
    lines = "".join(f"\nwavetank-replay-failure {json.dumps(record)}\n" for record in records)
    return outcome(lines, "", 1, 2, {}).failure


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({}, "rank 1 died (signal 9, Killed) in read of in at offset 5 (7 bytes)"),
        (
            {"state": "pauses"},
            "rank 1 died (signal 9, Killed) in a pause after read of in at offset 5 (7 bytes)",
        ),
        (
            {"state": "starts", "call": "", "file": "", "offset": -1, "size": -1},
            "rank 1 died (signal 9, Killed) before its first call",
        ),
        ({"state": "ended"}, "rank 1 died (signal 9, Killed) after the end of its program"),
    ],
)
def test_a_death_is_told_with_the_place(more, sentence):
    assert failure({**READING, "at_ns": 9, "died": "signal 9, Killed", **more}) == sentence


def test_of_several_failures_the_first_in_time_is_told():
    own = {**READING, "rank": 0, "at_ns": 20, "reason": "Connection reset by peer"}
    died = {**READING, "at_ns": 10, "died": "signal 9, Killed"}
    assert (failure(own, died) or "").startswith("rank 1 died")
    assert (failure(died, {**own, "at_ns": 5}) or "").startswith("rank 0 read of in at offset 5")


def test_ranks_that_all_wait_for_others_are_stuck():
    watch = Watch(2)
    assert not watch.line("noise of a launcher\n")
    assert not watch.line(waiting(0, "waits"))
    assert watch.line(waiting(1, "waits"))
    assert watch.told() == (
        "rank 0 waits in barrier on communicator 3 (step 2 of 9), "
        "rank 1 waits in barrier on communicator 3 (step 2 of 9)"
    )


@pytest.mark.parametrize("state", ["works", "pauses"])
def test_a_rank_that_may_still_go_on_leaves_the_others_waiting(state):
    watch = Watch(2)
    assert not watch.line(waiting(0, "waits"))
    assert not watch.line(waiting(1, state, call="read", file="in"))


def test_a_rank_that_moves_again_is_not_stuck():
    told: list[str] = []
    watch = Watch(2, told.append)
    watch.line(waiting(0, "waits"))
    assert told == ["no progress for 60 s: rank 0 waits in barrier on communicator 3 (step 2 of 9)"]
    assert not watch.line('wavetank-replay-moving {"rank": 0}\n')
    assert not watch.line(waiting(1, "waits"))
    assert watch.told().endswith(", no other rank stood still for long")


def test_what_ranks_do_while_they_are_ended_is_not_told():
    watch = Watch(2)
    watch.line(waiting(0, "waits"))
    watch.line(waiting(1, "works", call="read", file="in"))
    before = watch.told()
    watch.close()
    watch.line('wavetank-replay-moving {"rank": 0}\n')
    assert watch.told() == before


def test_lines_broken_by_other_output_are_passed_over():
    watch = Watch(1)
    assert not watch.line('wavetank-replay-waiting {"rank": 0, [host:1] warning }\n')
    assert watch.line(waiting(0, "waits"))


def test_ranks_that_all_stand_in_collective_calls_are_stuck_after_a_limit():
    watch = Watch(2)
    assert not watch.line(waiting(0, "works", call="MPI_File_open", file="out"))
    assert not watch.is_stuck_for(0)  # the other rank may still come
    assert not watch.line(waiting(1, "waits"))
    assert not watch.is_stuck_for(1000)
    assert watch.is_stuck_for(60)  # they say that they have stood for 60 s
    assert watch.is_stuck
    assert "rank 0 is in MPI_File_open of out" in watch.told()


def test_a_rank_in_a_call_of_its_own_keeps_the_others_from_being_stuck():
    watch = Watch(2)
    watch.line(waiting(0, "works", call="pwrite", file="out"))
    watch.line(waiting(1, "waits"))
    assert not watch.is_stuck_for(0)


def test_a_collective_call_may_take_the_time_of_its_bytes():
    watch = Watch(2)
    for rank in (0, 1):  # 100 MB each, 200 s at 1 MB/s
        watch.line(waiting(rank, "works", call="MPI_File_write_all", file="out", size=100_000_000))
    assert not watch.is_stuck_for(1)


def test_ranks_that_move_again_are_not_stuck():
    watch = Watch(2)
    for rank in (0, 1):
        watch.line(waiting(rank, "works", call="MPI_File_open", file="out"))
    watch.line('wavetank-replay-moving {"rank": 1}\n')
    assert not watch.is_stuck_for(0)


def test_ranks_that_wait_for_the_launcher_to_start_all_are_told_once() -> None:
    told: list[str] = []
    watch = Watch(3, told.append)
    for rank in range(3):
        watch.line(waiting(rank, state="starts", seconds=60.0 + rank))
    assert told == ["MPI has not started all 3 ranks after 60 s"]
    watch.line("wavetank-replay-started")
    watch.line(waiting(1, state="starts", seconds=90.0))
    assert len(told) == 2
    assert "rank 1" in told[1]


@pytest.mark.parametrize(
    ("timeout_s", "watch"), [(None, "60"), (1000, "60"), (240, "60"), (100, "25"), (2, "0.5")]
)
def test_ranks_are_watched_for_a_minute_or_a_quarter_of_a_shorter_limit(timeout_s, watch):
    assert f"--watch={watch}" in ReplayOptions(timeout_s=timeout_s).argv()
