"""What is common to all tables that commands print."""

from __future__ import annotations

import csv
import io
import json

import pytest

from wavetank.cli.output import MOST_SHOWN, print_tables
from wavetank.tables.table import plain_table

ROWS = [[n, f"f{n}"] for n in range(MOST_SHOWN + 1234)]
LONG = plain_table("Files", ("file_id", "name"), ROWS)


def test_people_see_the_first_rows_of_a_long_table_and_how_many_more_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_tables([LONG], "table")
    printed = capsys.readouterr().out
    assert f"f{MOST_SHOWN - 1}\n" in printed
    assert f"f{MOST_SHOWN}\n" not in printed
    assert "1,234 more rows are in --format json and csv" in printed


def test_a_table_that_is_not_long_is_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([plain_table("Files", ("file_id", "name"), ROWS[:MOST_SHOWN])], "table")
    assert "more rows" not in capsys.readouterr().out


def test_json_and_csv_hold_all_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([LONG], "json")
    assert len(json.loads(capsys.readouterr().out)["files"]) == MOST_SHOWN + 1234
    print_tables([LONG], "csv")
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[-1] == [str(MOST_SHOWN + 1233), f"f{MOST_SHOWN + 1233}"]
