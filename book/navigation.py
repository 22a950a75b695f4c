"""The order of the book, taken from the index pages: headings are its parts, and links of lists its pages."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from book.pages import shown_on

INDEX = Path("docs/README.md")
HEADING = re.compile(r"^(##+) (.+)$")
POINT = re.compile(r"^(?:[-*]|\d+\.) \[([^\]]+)\]\(([^)#]+)\)")  # a point and its first link


@dataclass
class Part:
    """A part of the book.

    Attributes:
        title: as the reader sees it.
        entries: pages by their titles, and parts, in order.
    """

    title: str
    entries: list[tuple[str, Path] | Part] = field(default_factory=list)

    def pages(self) -> set[Path]:
        """All pages of it."""
        return {
            page
            for entry in self.entries
            for page in (entry.pages() if isinstance(entry, Part) else {entry[1]})
        }

    def toml(self) -> str:
        """As the builder of the site reads it."""
        entries = [
            entry.toml() if isinstance(entry, Part) else page_toml(*entry) for entry in self.entries
        ]
        return _entry(self.title, f"[{', '.join(entries)}]")


def page_toml(title: str, page: Path) -> str:
    """A page as the builder of the site reads it; a file that is no page is on one that shows it."""
    shown = page if page.suffix == ".md" else shown_on(page)
    return _entry(title, json.dumps(str(shown)))


def _entry(title: str, value: str) -> str:
    return f"{{ {json.dumps(title, ensure_ascii=False)} = {value} }}"


def parts_of(root: Path, index: Path = INDEX) -> list[Part]:
    """Parts that an index page names; a page that is an index of its own, of a folder, becomes a part with parts.

    Args:
        root: of the repository.
        index: the page, relative to it.
    """
    parts: list[Part] = []
    for line in (root / index).read_text(encoding="utf-8").splitlines():
        if heading := HEADING.match(line):
            part = Part(heading[2])
            (parts if heading[1] == "##" else parts[-1].entries).append(part)
        elif (point := POINT.match(line)) and parts:
            page = Path(os.path.normpath(index.parent / point[2]))
            last = parts[-1].entries[-1] if parts[-1].entries else None
            into = last if isinstance(last, Part) else parts[-1]
            into.entries.append((point[1][0].upper() + point[1][1:], page))
            if page.name == INDEX.name:
                into.entries += parts_of(root, page)
    return [part for part in parts if part.entries]
