"""Words that gave way to the field's do not come back: the glossary lists them, and says what is used instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GLOSSARY = ROOT / "docs/reference/glossary.md"
ROW = re.compile(r"^\| (.+?) \| (.+?) \|$", re.MULTILINE)
# Fields of files that keep their names, so that files of every version are read; the decision says why.
FIELDS = re.compile(r"\b(?:woven_operations|strand_operations)\b")
DECISION = ROOT / "docs/decisions/0860-the-fields-words-by-a-list.md"


def sections() -> tuple[str, str]:
    """The glossary's terms, and its table of words that gave way."""
    terms, _, gone = GLOSSARY.read_text().partition("\n## Words that gave way\n")
    return terms, gone


def gone_words() -> dict[str, str]:
    """Each word that gave way, and the term in its place."""
    rows = [row for row in ROW.findall(sections()[1]) if row[0] not in ("not", "---")]
    return {word: term for words, term in rows for word in words.split(", ")}


def looked_at() -> Iterator[tuple[Path, str]]:
    """Sources and documents, without what may name a word that is gone."""
    roots = {"src": (".py", ".html", ".js"), "native": (".c", ".h", ".txt"), "docs": (".md", ".ipynb")}  # fmt: skip
    paths = [ROOT / "README.md", ROOT / "ARCHITECTURE.md"]
    for folder, ends in roots.items():
        paths += [path for path in (ROOT / folder).rglob("*") if path.suffix in ends]
    for path in paths:
        if path == DECISION:
            continue
        text = sections()[0] if path == GLOSSARY else path.read_text()
        yield path, FIELDS.sub("", text)


def found_in(text: str, word: str) -> bool:
    """Whether a word is in a text, also as a part of a name: ``_strand_of``, ``WeaveTable``."""
    part = word.replace(" ", r"[\s_]")
    apart = rf"(?<![a-z]){part}(?![a-z])"
    inside = rf"(?<![A-Z]){word.capitalize()}(?=[A-Z])" if " " not in word else r"(?!)"
    return re.search(apart, text, re.IGNORECASE) is not None or re.search(inside, text) is not None


@pytest.fixture(scope="module")
def texts() -> list[tuple[Path, str]]:
    return list(looked_at())


@pytest.mark.parametrize("word", gone_words())
def test_a_word_that_gave_way_is_nowhere(word: str, texts: list[tuple[Path, str]]) -> None:
    assert len(texts) > 1000
    assert [str(path.relative_to(ROOT)) for path, text in texts if found_in(text, word)] == []


@pytest.mark.parametrize("term", sorted(set(gone_words().values())))
def test_what_is_said_instead_is_a_term_of_the_glossary(term: str) -> None:
    terms = {term for cell, _ in ROW.findall(sections()[0]) for term in cell.split(", ")}
    assert term in terms


def test_a_word_is_found_in_prose_and_in_names() -> None:
    assert found_in("The Weave of a chunk", "weave")
    assert found_in("self._strand_of = 1", "strand")
    assert found_in("class StrandTable:", "strand")
    assert not found_in("a stranded process", "strand")
    assert found_in("what\nparts phases", "parts phases")
