"""Paragraphs of reference pages: a key or an option each, with its default and an example."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

from wavetank.units import parse_duration, parse_size

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
# From a key or an option to the next one or to a heading.
PARAGRAPH = re.compile(
    r"^\*\*`([\w.-]+)[^`\n]*`\*\*,? (.*?)(?=^\*\*`|^#|\Z)", re.MULTILINE | re.DOTALL
)
EXAMPLE = re.compile(r"Example: `([^`]+)`")
DEFAULT = re.compile(r"Default: (.+?)(?=[.,;:](?: |$))")
REFUSED = re.compile(r"(?:Refused: |; )`([^`]+)`, as `([^`]+)`")


def paragraphs(page: str, heading: str | None = None) -> list[tuple[str, str]]:
    """Names and texts on a page, or below one of its headings, in order; a text is one line."""
    text = (REFERENCE / f"{page}.md").read_text()
    if heading is not None:
        text = text.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
    return [(name, " ".join(said.split())) for name, said in PARAGRAPH.findall(text)]


def says_default(text: str, default: object) -> bool:
    """Whether a paragraph names a default, as people write it."""
    found = DEFAULT.search(text)
    if found is None:
        return False
    said = found[1]
    if isinstance(default, bool):
        return said.strip("`") == ("yes" if default else "no")
    if isinstance(default, int | float):
        return _is_number(said.strip("`"), default)
    if isinstance(default, str | Path) and default not in ("", ()):
        return said == f"`{default}`"
    return True  # none, or made of something else


def _is_number(said: str, number: float) -> bool:
    for read in (float, parse_size, parse_duration):
        try:
            if read(said) == number:
                return True
        except ValueError:
            continue
    return False


def merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """A file with keys of another one, also inside of keys."""
    found = copy.deepcopy(base)
    for key, value in change.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if both else copy.deepcopy(value)
    return found
