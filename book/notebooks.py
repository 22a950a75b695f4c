"""A notebook as a page: its cells performed one after another in this process, with what a notebook would show below each.

Notebooks are stored without outputs, so that what the book shows is what the program gives today. The cells are Python alone: no magic
commands, no shell.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import traceback
from html import escape
from pathlib import Path
from typing import Any

from book.errors import BookError

Names = dict[str, Any]


def page(file: Path) -> str:
    """The page of a notebook.

    Raises:
        BookError: a cell fails.
    """
    names: Names = {"__name__": "__main__"}
    blocks = []
    with contextlib.chdir(file.parent):
        for number, cell in enumerate(json.loads(file.read_text(encoding="utf-8"))["cells"], 1):
            text = "".join(cell["source"])
            if cell["cell_type"] == "code":
                blocks += [f"~~~~python\n{text}\n~~~~", *_performed(text, names, file, number)]
            else:
                blocks.append(text)
    blocks.append(f"Notebook: `docs/notebooks/{file.name}` of the repository.")
    return "\n\n".join(blocks) + "\n"


def _performed(text: str, names: Names, file: Path, number: int) -> list[str]:
    """What a cell shows: what it prints, and the value of its last line."""
    printed = io.StringIO()
    value = None
    try:
        with contextlib.redirect_stdout(printed):
            code = ast.parse(text)
            last = code.body.pop() if code.body and isinstance(code.body[-1], ast.Expr) else None
            exec(compile(code, file.name, "exec"), names)  # noqa: S102 - the repository's own cells
            if isinstance(last, ast.Expr):
                asked = compile(ast.Expression(last.value), file.name, "eval")
                value = eval(asked, names)  # noqa: S307 - likewise
    except Exception as error:
        said = "".join(traceback.format_exception_only(error)).strip()
        raise BookError(f"docs/notebooks/{file.name}, cell {number}: {said}") from error
    return [_shown_text(printed.getvalue())] * bool(printed.getvalue()) + _shown(value)


def _shown(value: object) -> list[str]:
    """A value as a notebook shows it."""
    if value is None:
        return []
    if hasattr(value, "savefig"):  # a figure of Matplotlib
        drawn = io.StringIO()
        value.savefig(drawn, format="svg", bbox_inches="tight")
        return [_picture(drawn.getvalue(), "Figure of the cell above")]
    if hasattr(value, "_repr_svg_"):
        return [_picture(value._repr_svg_(), getattr(value, "alt", "Figure"))]
    if hasattr(value, "_repr_html_"):
        lines = [line.strip() for line in value._repr_html_().splitlines()]
        return [f'<div class="output">{" ".join(filter(None, lines))}</div>']
    return [_shown_text(repr(value))]


def _shown_text(text: str) -> str:
    return f"~~~~text\n{text.rstrip()}\n~~~~"


def _picture(svg: str, alt: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    return f'<img class="output" alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'
