"""The C parts have one style, where clang-format 14 (that of Debian 12) cannot check it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCES = sorted((ROOT / "native").rglob("*.[ch]"))
TEXTS = re.compile(
    r"/\*.*?\*/|//[^\n]*|^[ ]*#[^\n]*?(?=\\?$)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    re.DOTALL | re.MULTILINE,
)


def code(source: str) -> str:
    """A C file without what may look like code: comments, directives, quoted texts."""

    def emptied(text: re.Match[str]) -> str:
        return '""' if text[0][0] in "\"'" else "\n" * text[0].count("\n")

    return TEXTS.sub(emptied, source).replace("\\\n", "\n")


def unbraced(source: str) -> Iterator[int]:
    """Lines of statements whose body has no braces. `InsertBraces` came with clang-format 15."""
    text = code(source)
    for word in re.finditer(r"\b(if|for|while|else|do)\b", text):
        at = word.end()
        if word[1] in ("if", "for", "while"):
            at, depth = text.index("(", at) + 1, 1
            while depth:
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at += 1
        body = text[at:].lstrip()
        ends_do = word[1] == "while" and text[: word.start()].rstrip().endswith("}")
        if not body.startswith((*"{", *(["if"] * (word[1] == "else")), *([";"] * ends_do))):
            yield text.count("\n", 0, word.start()) + 1


def test_a_body_without_braces_is_found() -> None:
    source = '/* if (a) b; */\nif (f("(")) {\n} else if (b)\n    c();\ndo {\n} while (a);\nelse\n    d();\n'
    assert list(unbraced(source)) == [3, 7]
    assert list(unbraced("#if 0\n#define M \\\n    for (;;) \\\n        x()\n")) == [3]


def test_every_body_has_braces() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in SOURCES
        for line in unbraced(path.read_text())
    ]
    assert found == []


def room(path: Path) -> str:
    """A folder below a part; a file right in a part is a room of its own, with its header."""
    part, *rest = path.relative_to(ROOT / "native").with_suffix("").parts
    return "/".join([part, rest[0]])


def test_rooms_of_the_c_parts_include_each_other_in_no_circle() -> None:
    below: dict[str, set[str]] = {}
    for path in SOURCES:
        part = ROOT / "native" / path.relative_to(ROOT / "native").parts[0]
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            found = next(
                (folder / name for folder in (path.parent, part) if (folder / name).exists()), None
            )
            assert found or (ROOT / "native" / "include" / name).exists(), f"{path}: {name}"
            if found and room(found) != room(path):
                below.setdefault(room(path), set()).add(room(found))
    assert list(
        TopologicalSorter(below).static_order()
    )  # raises CycleError, which names the circle


def test_every_source_begins_with_what_it_does() -> None:
    bare = [
        str(path.relative_to(ROOT)) for path in SOURCES if not path.read_text().startswith("/*")
    ]
    assert bare == []
