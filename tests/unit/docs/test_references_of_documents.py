"""References of files that wavetank writes: each field has a paragraph, with its default and an example that is taken."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, get_args

import pytest
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from reference_pages import DEFAULT, paragraphs

from wavetank.document import Record
from wavetank.kernel.document.kernel import Kernel, KernelFile, KernelMembers
from wavetank.model.document import program
from wavetank.model.document.file import ModelFile
from wavetank.model.document.file_members import Members
from wavetank.model.document.metadata import MetadataPhase
from wavetank.model.document.model import Model
from wavetank.model.document.phase import PatternMember, Phase
from wavetank.trace.index import IndexFile, IndexRank, TraceIndex
from wavetank.trace.schema import NUMBERS

# By page and heading, the record whose fields have paragraphs there.
RECORDS: dict[tuple[str, str], type[Record]] = {
    ("model", "## The file"): Model,
    ("model", "## Files"): ModelFile,
    ("model", "## Members of a file"): Members,
    ("model", "## Phases"): Phase,
    ("model", "## Operations of a pattern"): PatternMember,
    ("model", "## Calls that move no data"): MetadataPhase,
    ("kernel", "## The file"): Kernel,
    ("kernel", "## Files"): KernelFile,
    ("kernel", "## Members of a file"): KernelMembers,
    ("trace-format", "## The index"): TraceIndex,
    ("trace-format", "## Ranks of the index"): IndexRank,
    ("trace-format", "## Files of the index"): IndexFile,
}
GIVEN = ("model", "## What calls were given")
FIELDS = [
    *((*place, name, info) for place, record in RECORDS.items() for name, info in record.model_fields.items()),
    *((*GIVEN, name, program.FileStep.model_fields[name]) for name in NUMBERS),
]  # fmt: skip
IDS = [f"{page} {heading[3:]}: {name}" for page, heading, name, _ in FIELDS]
EXAMPLE = re.compile(r"Example: `([^`]+)`")
ELSEWHERE = re.compile(
    r"\]\((?:[\w./-]+\.md)?(?:#[\w-]+)?\)"
)  # a field of records: where theirs are


@pytest.mark.parametrize(("page", "heading"), RECORDS)
def test_each_field_has_a_paragraph_and_each_paragraph_a_field(page: str, heading: str) -> None:
    named = [name for name, _ in paragraphs(page, heading)]
    assert sorted(named) == sorted(RECORDS[page, heading].model_fields)


def test_each_thing_that_calls_were_given_has_a_paragraph() -> None:
    assert [name for name, _ in paragraphs(*GIVEN)] == list(NUMBERS)


@pytest.mark.parametrize(("page", "heading", "name", "info"), FIELDS, ids=IDS)
def test_a_paragraph_says_the_default_of_what_may_be_missing(
    page: str, heading: str, name: str, info: FieldInfo
) -> None:
    said = DEFAULT.search(dict(paragraphs(page, heading))[name])
    if info.is_required():
        assert said is None
        return
    assert said is not None
    default = info.get_default(call_default_factory=True)
    words = "null" if default is None else "none" if default in ((), {}) else json.dumps(default)
    assert said[1].strip("`") == words


@pytest.mark.parametrize(("page", "heading", "name", "info"), FIELDS, ids=IDS)
def test_the_example_of_a_field_is_taken_and_is_not_its_default(
    page: str, heading: str, name: str, info: FieldInfo
) -> None:
    text = dict(paragraphs(page, heading))[name]
    found = EXAMPLE.search(text)
    if found is None:
        assert _holds_records(info.annotation)
        assert ELSEWHERE.search(text) or name in ("provenance", "timeline")
        return
    body = json.loads("{" + found[1] + "}")
    assert list(body) == [name]
    field: Any = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
    taken = TypeAdapter(field).validate_json(json.dumps(body[name]))
    default = info.get_default(call_default_factory=True)
    assert info.is_required() or taken != default or isinstance(default, type(None))


def _holds_records(annotation: object) -> bool:
    """Whether a field is a record, or holds some."""
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return True
    return any(_holds_records(part) for part in get_args(annotation))


def test_the_example_of_each_kind_of_step_is_taken() -> None:
    kinds = dict(paragraphs("model", "## Programs"))
    classes = get_args(get_args(program.Step)[0])
    assert sorted(kinds) == sorted(kind.model_fields["step"].default for kind in classes)
    for name, text in kinds.items():
        (example,) = EXAMPLE.findall(text)
        assert TypeAdapter(program.Step).validate_json(example).step == name
