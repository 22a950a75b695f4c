"""References of files that people write: each key has a paragraph with its default and an example that is taken."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from wavetank.campaign.spec import CampaignSpec
from wavetank.document import Record
from wavetank.interfere.spec import InterfereSpec

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
# From a key to the next one or to a heading.
PARAGRAPH = re.compile(r"^\*\*`(\w+)`\*\* (.*?)(?=^\*\*`|^#)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"Example:\s`([^`]+)`")
LEAST: dict[str, tuple[type[Record], dict[str, Any]]] = {
    "campaign": (
        CampaignSpec,
        {"name": "a", "applications": [{"model": "a.json"}], "clusters": ["a.yaml"], "prices": "a-table"},
    ),
    "interfere": (
        InterfereSpec,
        {"name": "a", "groups": [{"name": "a", "clients": 1, "objects": {}}, {"name": "b", "model": "b.json"}], "clusters": ["a.yaml"]},
    ),
}  # fmt: skip
KEYS = [(page, key) for page, (spec, _) in LEAST.items() for key in spec.model_fields]


def paragraphs(page: str) -> dict[str, str]:
    return dict(PARAGRAPH.findall((REFERENCE / f"{page}.md").read_text()))


@pytest.mark.parametrize("page", LEAST)
def test_each_key_has_a_paragraph_and_each_paragraph_a_key(page: str) -> None:
    assert sorted(paragraphs(page)) == sorted(LEAST[page][0].model_fields)


@pytest.mark.parametrize(("page", "key"), KEYS)
def test_a_paragraph_says_the_default_or_that_there_is_none(page: str, key: str) -> None:
    field = LEAST[page][0].model_fields[key]
    text = " ".join(paragraphs(page)[key].split())
    assert ("Required." in text) == field.is_required()
    if isinstance(field.default, bool):
        assert f"Default: `{'yes' if field.default else 'no'}`" in text
    elif isinstance(field.default, int | float):
        assert re.search(rf"Default: {field.default:g}(\.| s\.)", text)
    elif isinstance(field.default, str | Path):
        assert f"Default: `{field.default}`" in text
    elif not field.is_required():
        assert "Default: " in text


@pytest.mark.parametrize(("page", "key"), KEYS)
def test_the_example_of_a_key_is_taken_and_is_not_its_default(page: str, key: str) -> None:
    spec, least = LEAST[page]
    (example,) = EXAMPLE.findall(paragraphs(page)[key])
    given = yaml.safe_load(example)
    assert list(given) == [key]
    taken = spec.model_validate({**least, **given})
    assert getattr(taken, key) != spec.model_fields[key].default
