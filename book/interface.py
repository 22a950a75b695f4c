"""The public Python interface as it is in the program: a signature and its docstring for each name, from ``wavetank.__all__``."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator

import wavetank

SECTION = re.compile(r"^(Args|Attributes|Raises|Returns):$")


def signatures() -> str:
    """What is added to the page of the interface."""
    lines = ["", "## Signatures", "", "As the program has them, with their docstrings.", ""]
    for name in wavetank.__all__:
        found = getattr(wavetank, name)
        if inspect.isclass(found):
            lines += [f"### class {name}", "", *_prose(found)]
            for member, value in vars(found).items():
                if not member.startswith("_"):
                    lines += _member(f"{name}.{member}", value)
        elif callable(found):
            lines += [f"### {name}", "", *_member(name, found)]
    return "\n".join(lines) + "\n"


def _member(name: str, value: object) -> list[str]:
    """A property, method or function; nothing for a plain attribute, which its class describes."""
    function = getattr(value, "fget", None) or getattr(value, "func", None) or value
    if not inspect.isfunction(function):
        return []
    signature = str(inspect.signature(function)).replace("'", "")
    shown = re.sub(r"^\(self(?:, )?", "(", signature)
    if function is not value:  # read as an attribute
        shown = shown.replace("() ->", ":")
    return ["```python", f"{name}{shown}", "```", "", *_prose(function)]


def _prose(thing: object) -> Iterator[str]:
    """A docstring as Markdown: its sections as lists."""
    text = inspect.getdoc(thing) or ""
    for block in text.replace("``", "`").split("\n\n"):
        first, _, rest = block.partition("\n")
        if section := SECTION.match(first):
            yield from (f"{section[1]}:", "")
            entries = re.sub(r"\n +(?=\S)", " ", textwrap.dedent(rest))
            for entry in entries.splitlines():
                name, colon, said = entry.partition(": ")
                yield f"- `{name}`: {said}" if colon else f"- {entry}"
        else:
            yield " ".join(block.split())
        yield ""
