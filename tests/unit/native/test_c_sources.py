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


NAMED = re.compile(
    r"^(?!static\b|extern\b|typedef\b)\w[\w *()]*?\b(wt_\w+)(\(| =|;|\[)", re.MULTILINE
)


def defined(text: str) -> Iterator[str]:
    """Names with external linkage that a .c file, without comments and texts, defines at its outer level."""
    for name in NAMED.finditer(text):
        at, depth = name.end(), 1
        while name[2] == "(" and depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        if name[2] != "(" or text[at:].lstrip().startswith("{"):
            yield name[1]


def sources_by_part() -> dict[str, dict[Path, str]]:
    """The .c files of each part of the C code, without comments and texts."""
    parts: dict[str, dict[Path, str]] = {}
    for path in SOURCES:
        if path.suffix == ".c":
            part = path.relative_to(ROOT / "native").parts[0]
            parts.setdefault(part, {})[path] = code(path.read_text())
    return parts


def test_a_definition_is_told_from_a_call_and_a_declaration() -> None:
    source = (
        "int wt_a(int b) {\n    wt_b();\n}\nstruct s wt_c;\nconst char *const wt_d[2] = {0};\n"
        "static int wt_e(void) {\n}\nint wt_f(void);\nextern int wt_g;\n"
    )
    assert list(defined(source)) == ["wt_a", "wt_c", "wt_d"]


def test_sources_of_a_part_call_each_other_in_no_circle() -> None:
    for sources in sources_by_part().values():
        makers: dict[str, set[Path]] = {}
        for path, text in sources.items():
            for name in defined(text):
                makers.setdefault(name, set()).add(path)
        below = {
            path: {
                maker
                for name in set(re.findall(r"(?<!struct )\bwt_\w+", text)) & makers.keys()
                if path not in makers[name]
                for maker in makers[name]
            }
            for path, text in sources.items()
        }
        assert list(TopologicalSorter(below).static_order())


def test_what_only_one_source_uses_is_static() -> None:
    whole = {
        path: re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL)
        for path in SOURCES
    }
    # Used by Python, by assembly, or by another library that is preloaded.
    exempt = re.findall(
        r"^WT_EXPORT\b[^;{]*?\b(wt_\w+)[(;]", "\n".join(whole.values()), re.MULTILINE
    )
    exempt += re.findall(r"\bused\)\).*?\b(wt_\w+)\(", "\n".join(whole.values()))
    alone = []
    for part, sources in sources_by_part().items():
        headers = "\n".join(
            text for path, text in whole.items() if path.suffix == ".h" and part in path.parts
        )
        for path, text in sources.items():
            others = "\n".join(whole[other] for other in sources if other != path)
            for name in set(defined(text)) - set(exempt):
                used = re.compile(rf"\b{name}\b")
                declared_alone = len(used.findall(headers)) < 2
                if declared_alone and not used.search(others):
                    alone.append(f"{path.relative_to(ROOT)}: {name}")
    assert alone == []


def test_every_source_begins_with_what_it_does() -> None:
    bare = [
        str(path.relative_to(ROOT)) for path in SOURCES if not path.read_text().startswith("/*")
    ]
    assert bare == []
