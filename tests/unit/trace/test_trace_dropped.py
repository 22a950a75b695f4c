"""Commands that drop the tracer on the way: what their parts show of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from wavetank.launchers import registry
from wavetank.trace.dropped import dropped
from wavetank.trace.part import Part

NODE = ["wavetank-node", "run", "nodes.map", "switch"]


def part(*command: str, rank: int | None = None) -> Part:
    return cast("Part", SimpleNamespace(command=command, rank=rank))


@pytest.fixture(autouse=True)
def _known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open MPI's launcher, whatever is installed here."""
    openmpi: Any = registry.launcher("openmpi")
    monkeypatch.setattr(openmpi, "recognises", lambda argv: argv[0].startswith("mpirun"))
    mpich: Any = registry.launcher("mpich")
    monkeypatch.setattr(mpich, "recognises", lambda _: False)


def said(argv: list[str], *parts: Part) -> list[str]:
    return dropped(argv, registry.recognise(argv), parts)


def test_a_launcher_behind_another_program_whose_ranks_left_nothing_is_said() -> None:
    # what was recorded of it before: "1 rank(s), 3 operations"
    argv = [*NODE, "mpirun.openmpi", "-np", "4", "./app"]
    (sentence,) = said(argv, part("wavetank-node", "shell", "nodes.map", "c1"))
    assert "mpirun.openmpi, and its 4 rank(s) left nothing" in sentence
    assert "wavetank cluster run NAME --trace" in sentence
    (sentence,) = said(["env", "-i", "mpirun", "./app"])
    assert "its ranks left nothing" in sentence


def test_ranks_that_were_recorded_are_enough() -> None:
    argv = [*NODE, "mpirun", "-np", "4", "./app"]
    assert said(argv, part("./app", rank=0)) == []
    assert said(["mpirun", "-np", "4", "./app"]) == []  # told by its ranks, not here


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["nsenter", "-t", "1", "-m", "./app"], "another root"),
        (["env", "-i", "./app"], "clears the environment"),
        (["env", "-", "./app"], "clears the environment"),
        (["sudo", "./app"], "clears the environment"),
        ([*NODE[:3], "c1", "./app"], "another root"),
    ],
)
def test_what_enters_another_place_and_left_nothing_but_itself_is_said(
    argv: list[str], why: str
) -> None:
    (sentence,) = said(argv, part(*argv))
    assert why in sentence
    assert said(argv, part(*argv), part("./app")) == []


def test_other_commands_are_not_suspected() -> None:
    assert said(["./app"]) == []
    assert said(["env", "A=1", "./app", "-i"]) == []
    assert said(["python", "-c", "pass"]) == []
