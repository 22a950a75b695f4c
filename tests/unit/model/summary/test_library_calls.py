"""Where the MPI library may make other calls below a replay than below the application."""

from __future__ import annotations

import pytest
from fold_builder import Event, model_of

from wavetank.model.rules import Rules
from wavetank.notes import texts
from wavetank.trace.arguments import Memory
from wavetank.trace.schema import Level

N = 4  # calls
CALL = "MPI_File_write_at_all"


def sieved(
    memory: Memory, call: str = CALL, read: str | None = "pread", read_file: int = 0, moved: int = 1000
) -> list[Event]:  # fmt: skip
    """Calls of 500 bytes below each of which the library reads 1000 bytes and writes them back."""
    events = [Event(0, "open", 1, start_ns=1, duration_ns=1)]  # the application's own file
    for step in range(N):
        clock, at = 100 + step * 100, step * 1000
        if read is not None:
            events.append(
                Event(0, read, read_file, at, 1000, moved, start_ns=clock + 1, duration_ns=1)
            )
        below = (
            []
            if "read" in call
            else [Event(0, "pwrite", 0, at, 1000, start_ns=clock + 3, duration_ns=1)]
        )
        events += below
        events.append(Event(0, call, 0, at, 500, arg=memory, start_ns=clock, duration_ns=50))
    return events


READING = (
    "phase 1: below 4 MPI-IO writes the MPI library made 4 reads of 4,000 bytes itself; a replay's memory has no gaps, "
    "so that its library may not read"
)
GAPS = (
    "phase 1: the application's memory has gaps and a replay's has none, so that the MPI library may make other calls "
    "below these"
)


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("memory", [Memory.UNKNOWN, Memory.WHOLE, Memory.GAPS])
def test_writes_below_which_the_library_read_are_told_unless_memory_is_plain(
    memory: Memory, fold: bool
) -> None:
    model = model_of(sieved(memory), fold=fold)
    assert model.phases[0].pattern[0].iop_type == CALL
    assert texts(model.notes, "unrecorded") == (READING,)
    assert READING in texts(model.notes)
    assert texts(model.notes, "library") == ()


def test_a_replay_s_memory_is_plain_too_so_that_its_library_reads_where_the_application_s_did() -> (
    None
):
    model = model_of(sieved(Memory.PLAIN))
    assert (texts(model.notes, "unrecorded"), texts(model.notes, "library")) == ((), ())


def test_reads_behind_the_end_of_the_file_are_reads() -> None:
    (said,) = texts(model_of(sieved(Memory.GAPS, moved=0)).notes, "unrecorded")
    assert "made 4 reads of 0 bytes" in said


@pytest.mark.parametrize(
    ("call", "read"),
    [(CALL, None), ("MPI_File_read_at_all", "pread"), ("MPI_File_write_at", None)],
)
def test_memory_with_gaps_alone_is_said_as_what_may_be(call: str, read: str | None) -> None:
    model = model_of(sieved(Memory.GAPS, call, read))
    assert texts(model.notes, "unrecorded") == ()
    assert texts(model.notes, "library") == (GAPS,)
    assert GAPS in texts(model.notes)
    plain = model_of(sieved(Memory.PLAIN, call, read))
    assert (texts(plain.notes, "unrecorded"), texts(plain.notes, "library")) == ((), ())


def test_reads_of_another_file_are_not_the_library_s() -> None:
    assert texts(model_of(sieved(Memory.UNKNOWN, read_file=1)).notes, "unrecorded") == ()


def test_each_level_alone_says_what_holds_for_its_own_kernel() -> None:
    posix = model_of(sieved(Memory.GAPS), Rules(levels=(Level.POSIX,)))
    assert (texts(posix.notes, "unrecorded"), texts(posix.notes, "library")) == (
        (),
        (),
    )  # its kernel makes the reads itself
    mpi = model_of(sieved(Memory.GAPS), Rules(levels=(Level.MPIIO,)))
    assert texts(mpi.notes, "unrecorded") == (READING,)


def test_phases_are_told_apart() -> None:
    # The first file's calls have gaps and are read below, the second's have gaps, the third's are plain.
    events = sieved(Memory.GAPS)
    for file, memory in ((2, Memory.GAPS), (3, Memory.PLAIN)):
        events += [
            Event(0, CALL, file, step * 500, 500, arg=memory, start_ns=10_000 * file + step * 100, duration_ns=50)
            for step in range(N)
        ]  # fmt: skip
    model = model_of(events)
    by_file = {phase.file_id: phase.ph_id for phase in model.phases if phase.level == "mpiio"}
    first, second, _ = (by_file[file_id] for file_id in sorted(by_file))
    assert [said.partition(":")[0] for said in texts(model.notes, "unrecorded")] == [
        f"phase {first}"
    ]
    assert [said.partition(":")[0] for said in texts(model.notes, "library")] == [f"phase {second}"]
