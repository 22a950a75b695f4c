"""``wavetank schema``: the JSON Schema of every file that wavetank writes or reads."""

from __future__ import annotations

import importlib
import json
from typing import Any

import click

# name -> (module, class). Documents first, in the order of the work, then what people write.
SCHEMAS: dict[str, tuple[str, str]] = {
    "model": ("wavetank.model.application", "Model"),
    "kernel": ("wavetank.kernel.plan", "Kernel"),
    "measurement": ("wavetank.measure.result", "Measurement"),
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a file."""
    from wavetank.document import Document

    module, class_name = SCHEMAS[name]
    record = getattr(importlib.import_module(module), class_name)
    if issubclass(record, Document):
        found: dict[str, Any] = record.json_schema()
        return found
    schema: dict[str, Any] = record.model_json_schema(mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"wavetank.{name}"
    return schema


@click.command(name="schema")
@click.argument("name", type=click.Choice(list(SCHEMAS)), required=False)
def command(name: str | None) -> None:
    """Print the JSON Schema of a file that wavetank writes or reads.

    Without a NAME: the names of all files.

    Example: wavetank schema model > model.schema.json
    """
    if name is None:
        for known in SCHEMAS:
            click.echo(known)
        return
    click.echo(json.dumps(json_schema(name), indent=1))
