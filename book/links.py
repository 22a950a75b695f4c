"""Whether the pages of a site are whole: what they refer to is in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

REFERENCE = re.compile(r"<(\w+)\b[^>]*?\s(?:href|src)=(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))")
ANCHOR = re.compile(r"\s(?:id|name)=(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))")
ELSEWHERE = re.compile(r"(?:https?:)?//")
LOADED_BY_STYLE = re.compile(r"(?:url\(|@import )['\"]?((?:https?:)?//[^'\")]+)")
FOLLOWED = "a"  # by the reader's choice; all others are loaded with the page


def mistakes(site: Path) -> list[str]:
    """What is wrong with the pages of a site, a sentence each."""
    found = [wrong for page in sorted(site.rglob("*.html")) for wrong in _of_page(site, page)]
    for style in sorted(site.rglob("*.css")):
        loaded = LOADED_BY_STYLE.findall(style.read_text(encoding="utf-8"))
        found += [f"{style.relative_to(site)} loads {each} from elsewhere" for each in loaded]
    return found


def _of_page(site: Path, page: Path) -> Iterator[str]:
    place = page.relative_to(site)
    for tag, *said in REFERENCE.findall(page.read_text(encoding="utf-8")):
        target = unescape("".join(said))
        if ELSEWHERE.match(target):
            if tag != FOLLOWED:
                yield f"{place} loads {target} from elsewhere"
            continue
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = Path(os.path.normpath(page.parent / unquote(path))) if path else page
        if place.name == "404.html":  # which is shown in place of any page
            there = site / path.lstrip("/") if path else page
        if there.is_dir():
            there /= "index.html"
        if not there.is_file():
            yield f"{place} leads to {target}, which is not there"
        elif anchor and there.suffix == ".html" and unquote(anchor) not in _anchors(there):
            yield f"{place} leads to {target}, a heading that is not there"


@cache
def _anchors(page: Path) -> frozenset[str]:
    found = ANCHOR.findall(page.read_text(encoding="utf-8"))
    return frozenset(unescape("".join(each)) for each in found) | {"__skip"}
