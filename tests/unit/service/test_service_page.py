"""What the page on the service says of kinds, modes and states is what the code says."""

from __future__ import annotations

from pathlib import Path

from wavetank.service.core.classes import CLASSES, KINDS
from wavetank.service.core.states import TRANSITIONS

PAGE = (Path(__file__).parents[3] / "docs/concepts/service.md").read_text()


def test_the_table_of_kinds_and_modes_is_that_of_the_code():
    rows = [
        f"| {KINDS[each.kind].title} | {each.mode} | {'yes' if each.offered else 'no'} | "
        f"{each.confined_by} | {each.size_limit} | {each.isolation} |"
        for each in CLASSES
    ]
    found = [line for line in PAGE.splitlines() if "| shared |" in line or "| dedicated |" in line]
    assert found == rows


def test_the_table_of_states_is_that_of_the_code():
    table = PAGE.partition("## States")[2].partition("##")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    told = {row[0].strip(" `"): row[2] for row in rows}
    assert set(told) == set(TRANSITIONS)
    for state, after in TRANSITIONS.items():
        if state != "failed":
            named = {each for each in TRANSITIONS if f"`{each}`" in told[state]}
            assert named | {"failed", "deleting"} >= after >= named, state
