"""The reference of campaigns: each key of the file has a paragraph with its default and an example that is taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from wavetank.campaign.spec import CampaignSpec

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "campaign.md"
# From a key to the next one or to a heading.
PARAGRAPH = re.compile(r"^\*\*`(\w+)`\*\* (.*?)(?=^\*\*`|^#)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"Example:\s`([^`]+)`")
LEAST = {
    "name": "a", "applications": [{"model": "a.json"}], "clusters": ["a.yaml"], "prices": "a-table",
}  # fmt: skip


def paragraphs() -> dict[str, str]:
    return dict(PARAGRAPH.findall(PAGE.read_text()))


def test_each_key_has_a_paragraph_and_each_paragraph_a_key() -> None:
    assert sorted(paragraphs()) == sorted(CampaignSpec.model_fields)


@pytest.mark.parametrize("key", CampaignSpec.model_fields)
def test_a_paragraph_says_the_default_or_that_there_is_none(key: str) -> None:
    field = CampaignSpec.model_fields[key]
    text = " ".join(paragraphs()[key].split())
    assert ("Required." in text) == field.is_required()
    if isinstance(field.default, bool):
        assert f"Default: `{'yes' if field.default else 'no'}`" in text
    elif isinstance(field.default, int | float):
        assert f"Default: {field.default}." in text
    elif isinstance(field.default, str | Path):
        assert f"Default: `{field.default}`" in text
    elif not field.is_required():
        assert "Default: " in text


@pytest.mark.parametrize("key", CampaignSpec.model_fields)
def test_the_example_of_a_key_is_taken_and_is_not_its_default(key: str) -> None:
    (example,) = EXAMPLE.findall(paragraphs()[key])
    given = yaml.safe_load(example)
    assert list(given) == [key]
    spec = CampaignSpec.model_validate({**LEAST, **given})
    assert getattr(spec, key) != CampaignSpec.model_fields[key].default
