"""A PDF as Chromium prints it: what is on which page, read from the tags that say what each piece is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OBJECT = re.compile(rb"(?:^|\n)(\d+) 0 obj\n?(.*?)\nendobj", re.DOTALL)
_KIDS = re.compile(rb"/K (\[.*?\]|\d+ 0 R|\d+|<<.*?>>)", re.DOTALL)
_KID = re.compile(rb"<<.*?>>|(\d+) 0 R|\d+", re.DOTALL)


@dataclass(frozen=True)
class Piece:
    """A piece of content, in the order of reading.

    Attributes:
        path: what it is in: kind ("H2", "TR") and number of each element, from the outermost on.
        page: on which it is, from 1.
    """

    path: tuple[tuple[str, int], ...]
    page: int

    def inside(self, kind: str) -> int | None:
        """The number of the innermost element of a kind that it is in; ``kind`` is a regular expression."""
        return next((n for name, n in reversed(self.path) if re.fullmatch(kind, name)), None)


def pieces(pdf: bytes) -> list[Piece]:
    """All pieces of a tagged PDF (PDF 1.7, section 14.7: structure trees) whose objects are not compressed."""
    objects = {int(found[1]): found[2] for found in _OBJECT.finditer(pdf)}
    catalog = next(body for body in objects.values() if b"/Type /Catalog" in body)
    number = {n: at for at, n in enumerate(_pages(objects, _reference(catalog, b"Pages")), 1)}
    return [
        Piece(path, number[page])
        for path, page in _leaves(objects, _reference(catalog, b"StructTreeRoot"), ())
    ]


def _reference(body: bytes, key: bytes) -> int:
    found = re.search(rb"/%s (\d+) 0 R" % key, body)
    assert found is not None, f"no {key.decode()} in {body[:200]!r}"
    return int(found[1])


def _pages(objects: dict[int, bytes], number: int) -> Iterator[int]:
    body = objects[number]
    kids = re.search(rb"/Kids \[(.*?)\]", body, re.DOTALL)
    if kids is None:
        yield number
        return
    for kid in re.findall(rb"(\d+) 0 R", kids[1]):
        yield from _pages(objects, int(kid))


def _leaves(
    objects: dict[int, bytes], number: int, above: tuple[tuple[str, int], ...]
) -> Iterator[tuple[tuple[tuple[str, int], ...], int]]:
    body = objects[number]
    kind, page = re.search(rb"/S /(\w+)", body), re.search(rb"/Pg (\d+)", body)
    path = (*above, ("" if kind is None else kind[1].decode(), number))
    kids = _KIDS.search(body)
    for kid in () if kids is None else _KID.finditer(kids[1]):
        if kid[1] is not None:
            yield from _leaves(objects, int(kid[1]), path)
            continue
        own = re.search(rb"/Pg (\d+)", kid[0]) or page
        assert own is not None, body
        yield path, int(own[1])
