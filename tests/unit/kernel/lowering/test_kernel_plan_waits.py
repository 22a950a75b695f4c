"""Ranks that no longer wait for each other as the kernel asks: it is seen in the plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import kernel_models as km
import pytest
from plan_checks import plan_differences
from plan_reader import read_plan
from plan_waits import waiting_differences

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.model import Model
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    ProcessStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
)

MEET = SyncStep(communicator=0)


def call(name: str, file: int = 1, **more: int) -> FileStep:
    return FileStep(iop_type=name, file_id=file, handle=0, **more)


def write_and_read(*, before: tuple[Step, ...] = (), between: tuple[Step, ...] = ()) -> Model:
    """Rank 0 writes a file, rank 1 reads it later."""
    member, places = [km.member("write", 10, 10)], [km.linear(b=10)]
    written = km.phase(1, 1, (0,), 4, member, places, start_s=0.0, end_s=1.0)
    read = km.phase(2, 1, (1,), 4, [km.member("read", 10, 10)], places, start_s=2.0, end_s=3.0)
    opened = call("open", flags=km.O_WRONLY | km.O_CREAT)
    programs = [
        Program(ranks=(0,), steps=(*before, opened, DataStep(ph_id=1, n=4), call("close"), *between)),
        Program(ranks=(1,), steps=(*before, *between, call("open"), DataStep(ph_id=2, n=4), call("close"))),
    ]  # fmt: skip
    file = km.model_file(1, "/s/out", 40)
    return km.model(2, [file], [written, read], programs, communicators=((0, 1),))


def made_and_found() -> Model:
    """Rank 1 makes a folder that ranks 0 and 2 find."""
    file = km.model_file(1, "/s/d", 0).model_copy(update={"directory": True})
    makes, finds = (call("mkdir", mode=0o755), call("stat")), (call("stat"),)
    programs = [Program(ranks=(rank,), steps=makes if rank == 1 else finds) for rank in range(3)]
    return km.model(3, [file], [], programs, communicators=((0, 1, 2),))


def processes() -> Model:
    """Rank 0 starts rank 1 and goes on when it has ended."""
    first = km.phase(1, 1, (0,), 2, [km.member("write", 10, 10)], [km.linear(b=10)])
    other = km.phase(2, 2, (1,), 2, [km.member("write", 10, 10)], [km.linear(b=10)])
    begins, ended = (ProcessStep(rank=1, event=event) for event in ("begins", "ended"))
    opened = {"flags": km.O_WRONLY | km.O_CREAT}
    programs = [
        Program(ranks=(0,), steps=(call("open", **opened), DataStep(ph_id=1, n=1), begins, ended,
                                   DataStep(ph_id=1, n=1), call("close"))),
        Program(ranks=(1,), steps=(call("open", 2, **opened), DataStep(ph_id=2, n=2), call("close", 2))),
    ]  # fmt: skip
    files = [km.model_file(1, "/s/a", 20), km.model_file(2, "/s/b", 20)]
    return km.model(2, files, [first, other], programs, communicators=((0, 1),))


WAITING = {
    "data": (write_and_read(before=(MEET,)), 2),
    "names": (made_and_found(), 4),
    "processes": (processes(), 4),
}


def broken(text: str) -> Iterator[str]:
    """The plan without a signal or an await, with it twice, with other ranks or number, without both sides, elsewhere."""
    lines = text.splitlines()
    told = {
        at: line.split() for at, line in enumerate(lines) if line.split()[0] in ("signal", "await")
    }
    for at, (word, *rest) in told.items():
        kept = [*lines[:at], *lines[at + 1 :]]
        yield "\n".join(kept)
        yield "\n".join([*lines[: at + 1], *lines[at:]])
        for place in (0, len(rest) - 1):  # its number, and the last of its ranks
            other = [word, *rest[:place], str(int(rest[place]) + 1), *rest[place + 1 :]]
            yield "\n".join([*lines[:at], " ".join(other), *lines[at + 1 :]])
        yield "\n".join(line for at, line in enumerate(lines) if told.get(at, (0, 0))[1] != rest[0])
        edge = at  # an await at its program's end comes too late, a signal at its start too early
        while lines[edge].split()[0] not in ("end", "program"):
            edge += 1 if word == "await" else -1
        edge += -1 if word == "await" else 1
        yield "\n".join([*kept[:edge], lines[at], *kept[edge:]])


@pytest.mark.parametrize("name", WAITING)
def test_a_wait_that_is_lost_or_another_is_noticed(tmp_path: Path, name: str) -> None:
    model, n_told = WAITING[name]
    kernel = make_kernel(model, km.written(model, tmp_path))
    plan = lower(kernel)
    assert plan_differences(plan, kernel) == []
    others = list(broken(plan))
    assert len(others) == 6 * n_told
    for text in others:
        differences = plan_differences(text, kernel)
        assert any("wait" in words or "signal" in words for words in differences), text


def test_what_a_collective_orders_needs_no_wait_until_it_is_lost(tmp_path: Path) -> None:
    between = RepeatStep(times=2, steps=(MEET,))
    model = write_and_read(between=(between,))
    kernel = make_kernel(model, km.written(model, tmp_path))
    plan = lower(kernel)
    assert "await" not in plan
    assert list(waiting_differences(read_plan(plan), kernel)) == []
    lost = "\n".join(line for line in plan.splitlines() if line.split()[0] != "sync")
    assert list(waiting_differences(read_plan(lost), kernel)) == [
        "rank 1 does not wait for rank 0: phase 2 works on what phase 1 wrote"
    ]


def test_no_wait_is_asked_for_beside_a_step_that_may_wait_itself(tmp_path: Path) -> None:
    """The writer writes and meets the reader in one loop: a wait there could stop both for ever."""
    model = write_and_read()
    writer, reader = model.programs
    loop = RepeatStep(times=2, steps=(DataStep(ph_id=1, n=2), MEET))
    opened, _, closed = writer.steps
    programs = (
        Program(ranks=(0,), steps=(opened, loop, closed)),
        Program(ranks=(1,), steps=(RepeatStep(times=2, steps=(MEET,)), *reader.steps)),
    )
    model = model.model_copy(update={"programs": programs})
    kernel = make_kernel(model, km.written(model, tmp_path))
    plan = lower(kernel)
    assert "await" not in plan
    assert list(waiting_differences(read_plan(plan), kernel)) == []


def test_a_wait_by_way_of_another_rank_is_one(tmp_path: Path) -> None:
    """Rank 2 finds what rank 1 makes, and is told so by rank 0, which waits for rank 1."""
    model = made_and_found()
    kernel = make_kernel(model, km.written(model, tmp_path))
    direct = lower(kernel)
    assert " signal 1 1 2\n" in direct and " await 1 1 1\n" in direct
    without = direct.replace(" signal 1 1 2\n", "").replace(" await 1 1 1\n", " await 1 1 0\n")
    found = " await 0 1 1\n"
    by_way = without.replace(found, f"{found} signal 1 1 2\n")
    too_early = without.replace(found, f" signal 1 1 2\n{found}")
    assert list(waiting_differences(read_plan(by_way), kernel)) == []
    (said,) = waiting_differences(read_plan(too_early), kernel)
    assert said.startswith("rank 2 does not wait for rank 1")
