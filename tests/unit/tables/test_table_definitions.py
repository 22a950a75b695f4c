"""One definition of a table, rendered as CSV, JSON and Markdown; what programs get, and what people."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest

from wavetank.measure.statistics import Estimate
from wavetank.tables.formats import csv_text, json_tables, markdown_table, tables_schema
from wavetank.tables.table import Amount, Cell, Column, Definition, facts, sentences
from wavetank.tables.words import numbers_text, ranges, ranks_text, size_words, words


@dataclass(frozen=True)
class Disk:
    name: str
    size: int | None = None
    time: Estimate | None = None
    mirrored: bool = False
    ranks: tuple[int, ...] = ()


DISKS: Definition[Disk] = Definition(
    "disks",
    "Disks",
    (
        Column("name", "Name", lambda i: i.name, wide=True),
        Column("size", "Size", lambda i: i.size, unit="B"),
        Column("time_s", "Time", lambda i: i.time, unit="s", spread=True, drawn="time"),
        Column("mirrored", "Mirrored", lambda i: i.mirrored, kind="boolean"),
        Column("ranks", "Ranks", lambda i: Cell(ranks_text(i.ranks), list(i.ranks)), kind="list"),
        Column("price", "Price", lambda i: Amount(Decimal("0.25"), "USD"), unit="currency", machine=True),
        Column("both", "Name and size", lambda i: f"{i.name}: {i.size}", people=True),
    ),
)  # fmt: skip

TIME = Estimate(median=2.0, low=1.0, high=4.0, values=(1.0, 2.0, 4.0))
FIRST = Disk("a", 2048, TIME, True, (0, 1, 2))


def test_programs_get_numbers_booleans_lists_and_both_ends_of_an_interval() -> None:
    assert DISKS.table([FIRST]).records() == [
        {
            "name": "a", "size": 2048, "time_s": 2.0, "time_s_low": 1.0, "time_s_high": 4.0, "mirrored": True,
            "ranks": [0, 1, 2], "price": 0.25,
        }
    ]  # fmt: skip


def test_what_is_not_known_is_null_for_programs_and_a_dash_for_people() -> None:
    table = DISKS.table([Disk("b")])
    row = table.records()[0]
    assert (row["size"], row["time_s"], row["time_s_low"]) == (None, None, None)
    assert [cell.text for _, cell in table.cells_shown(table.shown[0])][1:3] == ["\N{EN DASH}"] * 2


def test_people_see_words_with_units_and_no_columns_for_programs() -> None:
    table = DISKS.table([FIRST])
    shown = {column.key: cell.text for column, cell in table.cells_shown(table.shown[0])}
    assert shown == {
        "name": "a", "size": "2.0 KiB", "time_s": "2.00 s", "mirrored": "yes", "ranks": "0-2", "both": "a: 2048",
    }  # fmt: skip


def test_rows_for_people_may_be_others_and_fewer() -> None:
    disks = [Disk(f"d{n}") for n in range(5)]
    table = DISKS.table(disks, people=disks[:3], max_rows=2)
    assert (len(table.records()), len(table.shown), table.n_left_out) == (5, 2, 1)


def test_rows_are_made_for_those_who_ask_for_them() -> None:
    read: list[int] = []

    def number(item: int) -> int:
        read.append(item)
        return item

    numbers = Definition("numbers", "Numbers", (Column("n", "Number", number, kind="integer"),))
    table = numbers.table(range(5), people=range(10, 15), max_rows=2)
    assert not read
    assert [cell.text for (cell,) in table.shown] == ["10", "11"]
    assert (len(table.rows), len(table.for_people), table.n_left_out) == (5, 5, 3)
    assert read == [10, 11]
    assert [row["n"] for row in table.records()] == read[2:] == [0, 1, 2, 3, 4]


def test_intervals_of_a_column_are_drawn_on_one_scale() -> None:
    longer = Estimate(median=8.0, low=7.0, high=10.0, values=(8.0,))
    table = DISKS.table([FIRST, Disk("b", 1, longer)])
    first, second = (row[2].interval for row in table.rows)
    # The scale ends 2 % beyond the largest end, 10 s.
    assert first is not None and second is not None
    assert first.median == pytest.approx(2 / 10.2)
    assert second.high == pytest.approx(1 / 1.02)


def test_csv_joins_lists_and_no_spreadsheet_takes_a_text_for_a_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text([DISKS.table([Disk("=1+1", ranks=(3, 5))])]))))
    assert (rows[0]["name"], rows[0]["ranks"], rows[0]["mirrored"]) == ("'=1+1", "3; 5", "false")
    assert csv_text([facts("t", "T").table([("n", -5)])]).splitlines() == ["field,value", "n,-5"]


def test_an_empty_table_has_its_columns_in_csv() -> None:
    assert csv_text([DISKS.table([])]).startswith("name,size,time_s,time_s_low,time_s_high,")


def test_markdown_has_the_columns_for_people_with_intervals_and_escapes_markup() -> None:
    _, body = markdown_table("Disks", DISKS.table([Disk("<b>", 1, TIME)]))
    head, align, row = body.splitlines()
    assert head == "| Name | Size | Time | Mirrored | Ranks | Name and size |"
    assert align == "|---|--:|--:|---|---|---|"
    assert row.startswith(r"| \<b\> | 1 B | 2.00 s (1.00" + "\N{EN DASH}4.00 s) | no |")


def test_the_schema_says_what_each_column_holds() -> None:
    disks = tables_schema([DISKS])["properties"]["disks"]["items"]
    assert disks["required"] == list(DISKS.table([FIRST]).records()[0])
    assert disks["properties"]["mirrored"]["type"] == ["boolean", "null"]
    assert disks["properties"]["size"] == {
        "type": ["integer", "null"], "description": "Size", "unit": "B",
    }  # fmt: skip


def test_facts_and_sentences_are_tables_of_the_same_layer() -> None:
    table = facts("my-facts", "My facts", "what", command="show").table([("n", 1), ("t", 5e-05)])
    assert json_tables([table]) == {"my_facts": [{"what": "n", "value": 1}, {"what": "t", "value": 5e-05}]}  # fmt: skip
    assert [row[1].text for row in table.shown] == ["1", "0.00005"]
    assert sentences("said", "Said").table(["why"]).records() == [{"what": "why"}]
    known = tables_schema([facts("my-facts", "My facts", command="show")])["properties"]["my-facts"]
    assert known["description"] == "'wavetank show' prints it as 'my_facts'"


def test_columns_that_depend_on_the_items_are_a_pattern_of_the_schema() -> None:
    items = tables_schema([replace(DISKS, each=DISKS.columns[1])])["properties"]["disks"]["items"]
    assert items["patternProperties"] == {"size": items["properties"]["size"]}


def test_ranges_hold_every_number_once() -> None:
    assert ranges((0, 1, 2, 8, 10, 12, 40)) == [[0, 2, 1], [8, 12, 2], [40, 40, 1]]
    assert ranges((3, 9)) == [[3, 3, 1], [9, 9, 1]]
    assert ranks_text((0, 1, 2, 8, 10, 12, 40)) == "0-2, 8-12 by 2, 40"
    assert numbers_text([n * n for n in range(100)]).endswith("... 9801 (100 phases)")


def test_sizes_keep_every_byte() -> None:
    assert [size_words(n) for n in (512, 8191, 2**20)] == ["512 B", "8,191 B (8.0 KiB)", "1 MiB"]


def test_words_of_plain_values() -> None:
    assert words({"stat": 3, "open": 1000}) == "stat 3, open 1,000"
    assert words([True, None, "x"]) == "yes, \N{EN DASH}, x"
