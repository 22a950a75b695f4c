"""The site: pages, navigation and style put together, built by zensical, and looked through."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from book import commands, interface, links, notebooks, schemas
from book.errors import BookError
from book.navigation import INDEX, Part, page_toml, parts_of
from book.pages import Copies, notebooks_of, pages_of

HERE = Path(__file__).parent
CONFIGURATION = "zensical.toml"  # by which a folder of a book is known again
FILES = {"style.css": "style.css", "iframe-worker.js": "vendor/iframe-worker/shim.js"}
MOST_SAID = 20  # mistakes of one kind are often on every page
HOME = Path("README.md")
# Pages that the program itself goes on with.
WRITTEN = {
    Path("docs/reference/python.md"): interface.signatures,
    Path("docs/reference/commands.md"): commands.sections,
}


def build(root: Path, output: Path) -> Path:
    """Build the book of a repository.

    Args:
        root: of the repository.
        output: folder, made anew.

    Returns:
        Folder of the site.

    Raises:
        BookError: a link leads nowhere, a page is in no part of the book, a cell of a notebook fails, or the builder
            refuses a page.
    """
    parts = parts_of(root)
    _nothing_left_out(root, parts)
    if output.exists():
        if not (output / CONFIGURATION).exists() and any(output.iterdir()):
            raise BookError(f"{output} holds something else than a book. Name another folder")
        shutil.rmtree(output)
    pages = output / "pages"
    pages.mkdir(parents=True)
    _configure(output, parts)
    copies = Copies(root, pages, {".schema.json": schemas.page, ".ipynb": notebooks.page})
    for page in pages_of(root):
        copies.add(page)
    for page, rest in WRITTEN.items():
        if (pages / page).exists():
            with (pages / page).open("a", encoding="utf-8") as written:
                written.write(rest())
    for name, file in FILES.items():
        shutil.copyfile(HERE / file, pages / name)
    _run(output)
    if wrong := links.mistakes(output / "site"):
        raise BookError(f"{len(wrong)} mistakes:\n" + "\n".join(wrong[:MOST_SAID]))
    return output / "site"


def _nothing_left_out(root: Path, parts: list[Part]) -> None:
    there = {*pages_of(root), *notebooks_of(root)} - {HOME, INDEX}
    named = {page for part in parts for page in part.pages()}
    if left_out := sorted(str(page) for page in there - named):
        raise BookError(f"{INDEX} does not name {', '.join(left_out)}. Add a point for each")


def _configure(output: Path, parts: list[Part]) -> None:
    parts[0].entries.append(("All documentation", INDEX))
    entries = [page_toml("Home", HOME), *(part.toml() for part in parts)]
    navigation = "nav = [\n" + "".join(f"  {entry},\n" for entry in entries) + "]"
    text = (HERE / CONFIGURATION).read_text(encoding="utf-8")
    (output / CONFIGURATION).write_text(text.replace("NAVIGATION", navigation), encoding="utf-8")


def _run(output: Path) -> None:
    """Run the builder, which refuses links to what is not there and to headings that are not there."""
    ran = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=output,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ran.returncode or not (output / "site/index.html").exists():
        said = re.sub(r"\x1b\[[\d;]*m", "", ran.stdout)
        raise BookError(f"zensical refuses a page:\n{said}")
