"""What is common to all tables that commands print."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from table_layout import see_that_it_fits
from wavetank.cli.document_tables import DOCUMENT
from wavetank.cli.grid import lay_out
from wavetank.cli.output import MOST_SHOWN, print_tables
from wavetank.cli.table_schema import DEFINITIONS
from wavetank.kernel.tables.lines import NOT_BY_IOR
from wavetank.tables.table import Cell, Table

LONG = DOCUMENT.table((f"f{n}", n) for n in range(MOST_SHOWN + 1234))
COMMAND = (
    "mpirun -np 16 ior -w -c -a MPIIO -s 40 -b 10444800 -t 10444800 -k -o /scratch/btio.full.out"
)


def test_people_see_the_first_rows_of_a_long_table_and_how_many_more_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_tables([LONG], "table")
    printed = capsys.readouterr().out
    assert f" {MOST_SHOWN - 1}\n" in printed
    assert f" {MOST_SHOWN}\n" not in printed
    assert "1,234 more rows are in --format json and csv" in printed


def test_json_and_csv_hold_all_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([LONG], "json")
    assert len(json.loads(capsys.readouterr().out)["document"]) == MOST_SHOWN + 1234
    print_tables([LONG], "csv")
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[-1] == [f"f{MOST_SHOWN + 1233}", str(MOST_SHOWN + 1233)]


@pytest.fixture
def printed_at_80(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Prints tables as on a terminal of 80 columns; returns its lines without styles."""

    def printed(*tables: object) -> list[str]:
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        print_tables(tables, "table")  # type: ignore[arg-type]
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()

    return printed


def test_a_table_wider_than_a_terminal_of_80_columns_wraps_between_words(printed_at_80) -> None:
    said = "Offsets lie where the application's do in 3 of 4 ranks, and one rank's are moved."
    lines = printed_at_80(NOT_BY_IOR.table([((1, 2, 3), said), ((7,), "Pauses are left out.")]))
    assert max(map(len, lines)) <= 80
    assert lines[:2] == ["Not reproduced by IOR", "Phases  What"]
    assert " ".join(line[8:] for line in lines[2:4]) == said
    assert lines[4] == "7       Pauses are left out."


def test_a_pipe_gets_whole_lines_however_wide(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([NOT_BY_IOR.table([((1,), COMMAND * 3)])], "table")
    assert COMMAND * 3 in capsys.readouterr().out


def test_numbers_stay_with_their_units_and_at_the_right() -> None:
    rows = [["a b", "27,120,000 B (25.9 MiB)", "1.17 s (1.16\N{EN DASH}1.18 s)"]] * 2
    body = lay_out(["Name", "Bytes", "Time"], [False, True, True], rows, 34).body
    assert "\n".join(body).count("27,120,000 B") == 2
    assert [line.rsplit("  ", 1)[1].strip() for line in body[:2]] == ["1.17 s", "(1.16\N{EN DASH}1.18 s)"]  # fmt: skip
    assert all(len(line) <= 34 for line in body)


def test_columns_for_which_there_is_no_room_are_left_out_from_the_last_one() -> None:
    path = "/scratch/project/run/of/the/application/reads1.fastq"
    titles, numeric = ["Id", "File", "Node"], [True, False, False]
    found = lay_out(titles, numeric, [["1", path, path], ["2", "x", "y"]], 60)
    assert found.head == ("Id  File",)
    assert found.body == (f" 1  {path}", " 2  x")
    assert found.left_out == ("Node",)


def test_a_single_row_that_is_too_wide_has_a_line_for_each_column() -> None:
    path = "/scratch/project/run/of/the/application/reads1.fastq"
    found = lay_out(["Id", "File", "Node"], [True, False, False], [["1", path, path]], 62)
    assert found.head == () and found.left_out == ()
    assert found.body == ("Id    1", f"File  {path}", f"Node  {path}")


WORDS = st.text("abc\N{CJK UNIFIED IDEOGRAPH-6F22}-/,.", min_size=1, max_size=30)
CELLS = st.lists(WORDS, max_size=8).map(" ".join)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=4))
def test_no_word_is_ever_split_and_only_long_words_pass_the_edge(rows: list[list[str]]) -> None:
    from rich.cells import cell_len

    names = ["One", "Two", "Number"]
    found = lay_out(names, [False, False, True], rows, 40)
    lines = [*found.head, *found.body]
    kept = [at for at, name in enumerate(names) if name not in found.left_out]
    printed = sorted(word for line in lines for word in line.split())
    cells = [[names[at] for at in kept], *([row[at] for at in kept] for row in rows)]
    assert printed == sorted(word for row in cells for cell in row for word in cell.split())
    assert all(cell_len(line) <= 40 or cell_len(line.split()[-1]) > 30 for line in lines)


CELLS_OF = {
    "integer": st.integers(-5, 10**13).map("{:,}".format),
    "number": st.sampled_from(["1.17 s (1.16\N{EN DASH}1.18 s)", "64.0 KiB", "+5.3 %", "2,120 runs per USD"]),
    "boolean": st.sampled_from(["yes", "no"]),
}  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Any table that a command prints, with words of any kind in it."""
    definition = draw(st.sampled_from(DEFINITIONS))
    shown = [CELLS_OF.get(column.json_kind, CELLS) for column in definition.columns]
    rows = draw(st.lists(st.tuples(*shown), max_size=3))
    cells = tuple(tuple(Cell(text, text) for text in row) for row in rows)
    caption = draw(CELLS)
    return replace(definition.table([], caption=caption), rows=cells, people_rows=cells)


@settings(max_examples=100, deadline=None)
@given(tables(), st.integers(40, 200))
def test_every_table_fits_every_terminal_and_no_word_is_cut_or_lost(
    table: Table, width: int
) -> None:
    see_that_it_fits(table, width)
    see_that_it_fits(table, None)


def test_what_would_steer_a_terminal_is_not_passed_on() -> None:
    assert "\x1b" not in lay_out(["A"], [False], [["\x1b[31mred"]], 80).body[0]
