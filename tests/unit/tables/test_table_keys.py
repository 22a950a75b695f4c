"""No table and no column takes another's place in JSON and CSV."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavetank.tables.formats import json_tables
from wavetank.tables.table import Column, Definition, distinct, facts, repeated

FACTS = facts("facts", "Facts")
OTHERS = facts("other-facts", "Other facts", key="facts")


def test_two_tables_with_one_key_are_an_error() -> None:
    with pytest.raises(ValueError, match="two results have the key facts in JSON"):
        json_tables([FACTS.table([("n", 1)]), OTHERS.table([("n", 2)])])


def test_a_table_with_the_key_of_another_result_is_an_error() -> None:
    with pytest.raises(ValueError, match="two results have the key facts in JSON"):
        json_tables([FACTS.table([("n", 1)])], {"facts": 3})


def test_other_results_stand_beside_the_tables() -> None:
    assert json_tables([FACTS.table([("n", 1)])], {"name": "a"}) == {
        "name": "a", "facts": [{"field": "n", "value": 1}],
    }  # fmt: skip


def test_two_columns_with_one_key_are_an_error() -> None:
    columns = (Column[int]("n", "N", lambda i: i), Column[int]("n", "Twice", lambda i: 2 * i))
    with pytest.raises(ValueError, match="table numbers has two columns n"):
        Definition("numbers", "Numbers", columns).table([1])


def test_the_end_of_an_interval_and_a_column_of_its_name_are_an_error() -> None:
    columns = (
        Column[float]("t", "Time", lambda i: i, unit="s", spread=True),
        Column[float]("t_low", "At least", lambda i: i),
    )
    with pytest.raises(ValueError, match="t_low"):
        Definition("times", "Times", columns).table([1.0])


def test_a_key_that_was_there_before_gets_a_number() -> None:
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a_2", "a_3"]
    assert distinct(["a", "a", "a_2"]) == ["a", "a_3", "a_2"]


@given(st.lists(st.sampled_from(["a", "a_2", "a_2_2", "b"])))
def test_distinct_keys_are_distinct_and_the_first_of_each_stays(keys: list[str]) -> None:
    found = distinct(keys)
    assert not repeated(found)
    for key in keys:
        assert found[keys.index(key)] == key
