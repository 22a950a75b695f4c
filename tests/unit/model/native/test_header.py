"""What Python and C say to each other by numbers has the same names and numbers on both sides."""

import re
from pathlib import Path

import numpy as np

from wavetank.model.native.substreams import MOST_SUBSTREAMS, Role
from wavetank.model.native.survey import Flag, Table

HEADER = Path(__file__).parents[4] / "native" / "model" / "model.h"


def enumerated() -> dict[str, int]:
    """The constants of the header's enums."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    found: dict[str, int] = {}
    for body in re.findall(r"enum \{([^}]*)\}", text):
        number = 0
        for entry in filter(None, (entry.strip() for entry in body.split(","))):
            name, _, given = (part.strip() for part in entry.partition("="))
            number = int(given) if given else number
            found[name] = number
            number += 1
    return found


def test_flags_of_a_survey_are_the_header_s() -> None:
    flags = {name: value for name, value in vars(Flag).items() if name.isupper()}
    in_c = enumerated()
    assert flags == {name: in_c[f"WT_{name}"] for name in flags}
    assert sorted(flags.values()) == [1 << bit for bit in range(len(flags))]


def test_flags_leave_a_column_of_bytes_one() -> None:
    column = np.zeros(3, dtype=np.uint8)
    assert (column & Flag.JOINABLE).dtype == np.uint8


def test_roles_of_substreams_are_the_header_s() -> None:
    in_c = enumerated()
    assert {role.name: int(role) for role in Role} == {
        role.name: in_c[f"WT_{role.name}"] for role in Role
    }
    assert in_c["WT_MOST_SUBSTREAMS"] == MOST_SUBSTREAMS


def test_columns_of_a_chunk_are_in_the_header_s_order() -> None:
    text = HEADER.read_text()
    body = text[text.index("struct wt_table {") :]
    names = re.findall(r"\*?(\w+);", body[: body.index("};")])
    assert [name for name, _ in Table._fields_] == names
