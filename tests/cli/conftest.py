"""Every table that a command prints is one of `wavetank schema tables`, its rows are as that says, and it fits 80 columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

import pytest
from jsonschema import Draft202012Validator

from table_layout import see_that_it_fits
from wavetank.cli import output
from wavetank.tables.table import Table


@cache
def _validator(name: str) -> Draft202012Validator:
    from wavetank.cli.table_schema import schema

    known = schema()["properties"]
    assert name in known, f"table {name} is in no schema: add its definition to cli/table_schema.py"
    return Draft202012Validator(known[name])


@pytest.fixture(autouse=True)
def _tables_are_as_their_schema_says(monkeypatch: pytest.MonkeyPatch) -> None:
    render = output.render

    def check(tables: Sequence[Table], *others: object) -> None:
        for table in tables:
            name = "ranking" if table.name.startswith("ranking-") else table.name
            _validator(name).validate(json.loads(json.dumps(table.records())))
            see_that_it_fits(table, 80)
            see_that_it_fits(table, None)
        render(tables, *others)

    monkeypatch.setattr(output, "render", check)
