"""Plans with members: each rank gets the names that it visits, makes those files, and names the line of a damaged one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from plan_reader import read_plan
from replay_run import need
from tracer_run import FAMILIES

from waiting import HANG_S
from wavetank import native
from wavetank.errors import KernelError

PLAN = """wavetank-plan 1
ranks 3
file 1 1 output 0 set
members 1 6 tree
visits 1 0 2 2
 member 0 a/one
 member 0 a/t%20wo
visits 1 1 2 3 1 0 1
 member 0 b/three
 member 0 b/four
file 2 2 output 0 other
members 2 2 folder
visits 2 1 1 1
 member 0 five
visits 2 0 1 1
 member 0 six
communicator all
program 0
 do open 1 0 65 - - - 0 2 - 1
 do open 2 0 65 - - - 0 1 - 1
end
program 1
 repeat 3
  do open 1 0 65 - - - 0 1 - 1
  do close 1 0 0 - - - 0 1 - 0
 end
 do open 2 0 65 - - - 0 1 - 1
end
program 2
end
plan-end
"""


def run(plan: str, folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    need(name)
    (folder / "plan").write_text(plan)
    for made in ("a", "b", "other", "set"):
        (folder / "root" / made).mkdir(parents=True)
    program = native.find(f"bin/wavetank-replay-{name}", "test")
    return subprocess.run(
        [*FAMILIES[name][2], "-n", "3", str(program), f"--plan={folder / 'plan'}", f"--root={folder / 'root'}"],
        capture_output=True, text=True, check=False, timeout=HANG_S,
    )  # fmt: skip


def test_each_rank_makes_the_files_that_it_visits(tmp_path: Path) -> None:
    found = run(PLAN, tmp_path, "openmpi")
    assert found.returncode == 0, found.stdout + found.stderr
    root = tmp_path / "root"
    made = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert made == {"a/one", "a/t wo", "b/three", "b/four", "other/five", "other/six"}


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (" member 0 b/four", " member 0 b/../../four", 10, "leaves its folder"),
        ("visits 1 1 2 3 1 0 1", "visits 1 1 2 3 1 0 2", 8, "out of its range"),
        ("visits 1 1 2 3 1 0 1", "visits 1 1 2 3", 8, "no order"),
        ("visits 2 0 1 1", "visits 1 0 1 1", 15, "visits members twice"),
        ("members 2 2 folder", "members 2 2 nowhere", 12, "lie in no nowhere"),
        (" do open 2 0 65", " do open 7 0 65", 20, "a file that the plan does not have"),
    ],
)
def test_a_damaged_line_is_named_as_it_is_in_the_plan(
    old: str, new: str, line: int, message: str, tmp_path: Path
) -> None:
    found = run(PLAN.replace(old, new, 1), tmp_path, "openmpi")
    assert found.returncode != 0
    assert f"damaged at line {line}: " in found.stdout
    assert message in found.stdout


def test_the_certificates_reader_reads_the_same() -> None:
    plan = read_plan(PLAN)
    assert plan.members[1].visits[1].names == [("b/three",), ("b/four",)]
    assert plan.members[1].visits[1].order.tolist() == [1, 0, 1]
    assert plan.members[1].visits[0].order.tolist() == [0, 1]
    assert (plan.members[1].in_tree, plan.members[2].in_tree) == (True, False)
    for damaged in ("visits 1 1 2 3 1 0 2", "visits 1 1 2 3", "visits 1 1 2 4 1 0 1"):
        with pytest.raises(KernelError, match="damaged"):
            read_plan(PLAN.replace("visits 1 1 2 3 1 0 1", damaged))


TWO_NAMES = """wavetank-plan 1
ranks 3
file 1 1 output 0 set
name 1 set-new
members 1 2 folder
visits 1 0 2 2
 member 0 one one.new
 member 0 two t%20.new
communicator all
program 0
 repeat 2
  do open 1 0 65 - - - 0 1 - 3
  do close 1 0 0 - - - 0 1 - 0
  pair rename 1 2 1 0 0
 end
end
program 1-2
end
plan-end
"""


def test_a_member_is_made_under_its_second_name_and_gets_its_first(tmp_path: Path) -> None:
    found = run(TWO_NAMES, tmp_path, "openmpi")
    assert found.returncode == 0, found.stdout + found.stderr
    root = tmp_path / "root"
    made = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert made == {"set/one", "set/two"}
    assert read_plan(TWO_NAMES).members[1].visits[0].names == [
        ("one", "one.new"),
        ("two", "t .new"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (" member 0 two t%20.new", " member 0 two ../new", 8, "leaves its folder"),
        (" member 0 two t%20.new", " member 0 two", 8, "too short"),
        ("pair rename 1 2 1 0 0", "pair rename 1 2 1 1 0", 14, "is on two members"),
        ("pair rename 1 2 1 0 0", "pair rename 1 4 1 0 0", 14, "out of its range"),
    ],
)
def test_a_name_that_no_member_has_is_damage(
    old: str, new: str, line: int, message: str, tmp_path: Path
) -> None:
    found = run(TWO_NAMES.replace(old, new, 1), tmp_path, "openmpi")
    assert found.returncode != 0
    assert f"damaged at line {line}: " in found.stdout
    assert message in found.stdout
