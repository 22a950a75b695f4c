"""The published JSON Schemas are those of the code, and valid."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from wavetank.cli import schema

PUBLISHED = Path(__file__).resolve().parents[2] / "docs/reference/schemas"


@pytest.mark.parametrize("name", schema.SCHEMAS)
def test_published_schemas_are_current(name: str) -> None:
    published = json.loads((PUBLISHED / f"{name}.schema.json").read_text())
    assert published == schema.json_schema(name), (
        "the file's format has changed: raise its version if old files cannot be read any more, "
        "and run: wavetank schema --write docs/reference/schemas"
    )


@pytest.mark.parametrize("name", schema.SCHEMAS)
def test_schemas_are_valid_json_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema.json_schema(name))


def test_schema_prints_the_published_text() -> None:
    result = CliRunner().invoke(schema.command, ["model"])
    assert result.output == (PUBLISHED / "model.schema.json").read_text()
