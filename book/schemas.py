"""A JSON Schema as a page: a paragraph for each key, records that keys hold below."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "{} characters at least",
    "maxLength": "{} characters at most",
    "minItems": "{} entries at least",
    "maxItems": "{} entries at most",
    "pattern": "matches `{}`",
}


def page(file: Path) -> str:
    """The page of a schema file."""
    schema = json.loads(file.read_text(encoding="utf-8"))
    name = file.name.removesuffix(".schema.json")
    lines = [f"# Schema {name}", "", schema.get("description", "")]
    lines += ["", f"`wavetank schema {name}` prints it as JSON Schema.", ""]
    lines += ["## Keys", "", *_keys(schema, "")]
    for title, record in schema.get("$defs", {}).items():
        lines += [f"## {title}", "", record.get("description", ""), ""]
        lines += list(_keys(record, "")) if "properties" in record else [f"{_kind(record)}.", ""]
    return "\n".join(lines)


def _keys(record: Schema, before: str) -> Iterator[str]:
    """A paragraph for each key, and for those of records that stand in it without a name."""
    required = record.get("required", [])
    for key, value in record.get("properties", {}).items():
        said = [_kind(value)]
        said += [text.format(value[limit]) for limit, text in LIMITS.items() if limit in value]
        if key in required and not before:
            said.append("required")
        elif value.get("default") is not None:
            said.append(f"default `{json.dumps(value['default'], ensure_ascii=False)}`")
        help_text = value.get("description", "")
        yield f"**`{before}{key}`** ({', '.join(said)}){': ' + help_text if help_text else ''}"
        yield ""
        inner = value.get("items", value)
        if "properties" in inner:
            yield from _keys(inner, f"{before}{key}.")


def _kind(value: Schema) -> str:  # noqa: PLR0911 - a case a line
    """What a value is, in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in value:
            return " or ".join(dict.fromkeys(_kind(each) for each in value[several]))
    if "enum" in value:
        return " or ".join(f"`{each}`" for each in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    kind = value.get("type")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        inner = value.get("items") or value.get("prefixItems")
        kinds = [_kind(each) for each in (inner if isinstance(inner, list) else [inner or {}])]
        return f"list of {', '.join(dict.fromkeys(kinds))}"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"object of {_kind(value['additionalProperties'])} by name"
    return str(kind or "anything")
