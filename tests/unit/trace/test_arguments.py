"""The one number that a call may be given: what it says is one table, and asked by name."""

import ast
from pathlib import Path

from wavetank.trace import arguments
from wavetank.trace.arguments import ARGUMENTS, Argument
from wavetank.trace.ops import OPS
from wavetank.trace.schema import NUMBERS, OpKind

SOURCE = Path(arguments.__file__).parents[1]


def test_what_is_known_of_calls_on_two_names_is_one_list() -> None:
    assert {"rename", "link", "symlink"} == arguments.ON_TWO_NAMES
    assert {
        op.name for op in OPS.values() if op.kind is OpKind.RESIZE
    } == {name for name, said in ARGUMENTS.items() if said is Argument.NEW_SIZE}  # fmt: skip


def test_the_numbers_of_calls_have_columns_of_the_same_names() -> None:
    in_files = {Argument.HINTS, Argument.COMMUNICATOR, Argument.MEMORY}
    assert set(NUMBERS) == {said.value for said in set(Argument) - in_files}


def test_no_other_module_knows_what_the_number_of_a_call_means() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "arg":
                found.add(path.relative_to(SOURCE).as_posix())
    assert found == {"trace/fold.py"}
