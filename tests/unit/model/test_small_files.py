"""No file of the models' code is small without a reason: a reader opens each one."""

import ast
from pathlib import Path

import pytest

from wavetank import model

ROOMS = Path(model.__file__).parent
FEW = 40  # lines
REASON = "A file of its own"


def small_files() -> list[str]:
    """Files with fewer lines, but those that say what a room is for."""
    files = [path for path in ROOMS.rglob("*.py") if path.name != "__init__.py"]
    small = (path for path in files if len(path.read_text("utf-8").splitlines()) < FEW)
    return sorted(path.relative_to(ROOMS).as_posix() for path in small)


@pytest.mark.parametrize("name", small_files())
def test_a_small_file_says_why_it_is_apart(name: str) -> None:
    head = ast.get_docstring(ast.parse((ROOMS / name).read_text("utf-8")))
    assert head is not None
    assert REASON in head
