"""What is wrong with a file that a person wrote, in words: where, what stands there, and what to write.

Pydantic's own messages speak of strings, inputs and patterns. Text of a certain form is a ``Written``, which knows its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

# A value of several forms has each of them in the places of its findings: "literal['io','compute']", "int".
_FORM = re.compile(
    r"(literal|tuple|list|dict|function-\w+|nullable|lax-or-strict)\[.*\]|constrained-\w+|str|int|float|bool"
)
_KEY = "[key]"  # in a place: it is the key that is wrong
_IMPOSSIBLE = "is not possible"
_LONGEST = 80  # characters of a value that are repeated

# What is wrong with a value, and what to write.
_Words = Callable[[Mapping[str, Any]], tuple[str, str]]
_WORDS: dict[str, _Words] = {
    "literal_error": lambda told: (_IMPOSSIBLE, str(told["expected"])),
    "greater_than_equal": lambda told: ("is too small", f"at least {_number(told['ge'])}"),
    "greater_than": lambda told: ("is too small", f"more than {_number(told['gt'])}"),
    "less_than_equal": lambda told: ("is too large", f"at most {_number(told['le'])}"),
    "less_than": lambda told: ("is too large", f"less than {_number(told['lt'])}"),
    "string_type": lambda _: ("is no text", "text, in quotes where YAML has another meaning for it"),
    "string_too_short": lambda _: ("is too short", "text"),
    "string_too_long": lambda told: ("is too long", f"at most {told['max_length']} characters"),
    "too_short": lambda told: ("is too short", f"at least {told['min_length']} in it"),
    "too_long": lambda told: ("is too long", f"at most {told['max_length']} in it"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_from_float"),
        lambda _: ("is no whole number", "a whole number"),
    ),
    **dict.fromkeys(("float_type", "float_parsing"), lambda _: ("is no number", "a number")),
    **dict.fromkeys(
        ("bool_type", "bool_parsing"), lambda _: ("is neither yes nor no", "yes or no")
    ),
    **dict.fromkeys(("tuple_type", "list_type"), lambda _: ("is no list", "a list: [A, B]")),
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type"),
        lambda _: ("has no keys", "keys with values: {KEY: VALUE}"),
    ),
    "union_tag_invalid": lambda told: (
        f"has no possible {told['discriminator']}", str(told["expected_tags"]),
    ),
    "union_tag_not_found": lambda told: (f"has no {told['discriminator']}", "one"),
}  # fmt: skip


@dataclass(frozen=True)
class Written:
    """Text of a certain form: a part of an ``Annotated``.

    Attributes:
        pattern: that all of the text matches.
        words: what to write, for a person: "an absolute path".
    """

    pattern: str
    words: str

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The text's own schema, and the pattern after it."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The text's own, with the pattern."""
        return {**handler(schema), "pattern": self.pattern}

    def _checked(self, text: str) -> str:
        if re.fullmatch(self.pattern, text) is None:
            raise ValueError(f"{_told(text)} {_IMPOSSIBLE}: write {self.words}")
        return text


def findings_of(error: ValidationError) -> list[str]:
    """All findings of a validation, a line each: where, what is wrong there, and what to write."""
    by_value: dict[tuple[str, ...], list[tuple[tuple[str, ...], ErrorDetails]]] = {}
    for each in error.errors(include_url=False):
        outer, inner = _place(each)
        by_value.setdefault(outer, []).append((inner, each))
    lines = []
    for outer, of_forms in by_value.items():
        # who came far into one of several forms meant that one
        furthest = max(len(inner) for inner, _ in of_forms)
        by_place: dict[tuple[str, ...], list[ErrorDetails]] = {}
        for inner, each in of_forms:
            if len(inner) == furthest:
                by_place.setdefault(inner, []).append(each)
        for inner, found in by_place.items():
            lines.append(f"{'.'.join((*outer, *inner)) or 'top level'}: {_message(found)}")
    return lines


def _place(finding: ErrorDetails) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keys down to the value, and from there on where the value has several forms."""
    parts = [str(part) for part in finding["loc"] if part != _KEY]
    forms = [number for number, part in enumerate(parts) if _FORM.fullmatch(part)]
    if not forms:
        return tuple(parts), ()
    inner = [part for number, part in enumerate(parts) if number > forms[0] and number not in forms]
    return tuple(parts[: forms[0]]), tuple(inner)


def _message(found: Sequence[ErrorDetails]) -> str:
    """Of one value, which may be wrong in each of its forms."""
    if len(found) == 1:
        return _sentence(found[0])
    remedies = [_remedy(each) for each in found]
    if None in remedies:
        return "; or ".join(dict.fromkeys(map(_sentence, found)))
    choices = ", or ".join(remedy for remedy in dict.fromkeys(remedies) if remedy)
    return f"{_told(found[0]['input'])} {_IMPOSSIBLE}: write {choices}"


def _sentence(finding: ErrorDetails) -> str:
    if finding["type"] == "extra_forbidden":
        return "no such key; is it misspelt?"
    if finding["type"] == "missing":
        return "this key is required"
    value = finding["input"]
    words = _WORDS.get(finding["type"])
    if words is not None:
        wrong, remedy = words(finding.get("ctx", {}))
        return f"{_told(value)} {wrong}: write {remedy}"
    message = finding["msg"].removeprefix("Value error, ")
    if isinstance(value, str | int | float) and not (
        str(value) in message or _told(value) in message
    ):
        return f"{message}, not {_told(value)}"
    return message


def _remedy(finding: ErrorDetails) -> str | None:
    """What to write in one form; None where that is not told apart from what is wrong."""
    words = _WORDS.get(finding["type"])
    if words is not None:
        return words(finding.get("ctx", {}))[1]
    _, was_written, remedy = finding["msg"].partition(f" {_IMPOSSIBLE}: write ")
    return remedy if was_written else None


def _told(value: object) -> str:
    """A value as it stands in the file."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and "PRIVATE KEY-----" in value:
        return "a private key"  # never repeated
    if isinstance(value, str | int | float):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return "a list" if isinstance(value, list | tuple) else "what stands here"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)
