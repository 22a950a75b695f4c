"""Pages of the repository as pages of the site: copies at the same places, in which links lead to pages alone.

A link to a file that is no page, such as a campaign of ``examples``, leads to a page that shows the file.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from book.errors import BookError

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
# What is no prose: links in it are text.
CODE = re.compile(r"^```.*?^```|^~~~.*?^~~~|`[^`\n]+`", re.MULTILINE | re.DOTALL)
# What the builder reads otherwise than a forge does.
LIST_AT_PROSE = re.compile(r"^(?![-*] |\d+\. |\s|#|\||$).+\n(?=[-*] )", re.MULTILINE)
SHALLOW = re.compile(r"\n\n(?= {1,3}\S)")
PICTURES = (".png", ".svg", ".jpg")
LANGUAGES = {".yaml": "yaml", ".py": "python", ".json": "json", ".sh": "bash", ".toml": "toml"}


def pages_of(root: Path) -> Iterator[Path]:
    """Pages of the repository, relative to it, in order."""
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    yield from (page.relative_to(root) for page in sorted(found))


def notebooks_of(root: Path) -> Iterator[Path]:
    """Notebooks of the repository, relative to it."""
    yield from (file.relative_to(root) for file in (root / "docs").rglob("*.ipynb"))


def shown_on(file: Path) -> Path:
    """The page that shows a file which is no page."""
    return file.with_name(f"{file.name}.md")


class Copies:
    """Pages of the site below one folder, which has the layout of the repository.

    Attributes:
        root: of the repository.
        into: the folder.
        makers: pages made of files in another way than as they are, by what the names of such files end in.
    """

    def __init__(self, root: Path, into: Path, makers: dict[str, Callable[[Path], str]]) -> None:
        self.root, self.into, self.makers = root.resolve(), into, makers
        self._made: set[Path] = set()

    def add(self, page: Path) -> None:
        """Copy a page with all that it leads to.

        Raises:
            BookError: a link leads nowhere, or the site would have other lists than a forge.
        """
        if page in self._made:
            return
        self._made.add(page)
        text = (self.root / page).read_text(encoding="utf-8")
        _refuse_what_is_read_otherwise(page, text)
        self.write(page, self.links_led(page, text))

    def write(self, page: Path, text: str) -> None:
        """Write a page of the site."""
        target = self.into / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def links_led(self, page: Path, text: str) -> str:
        """A page's text, with links that lead to pages of the site; what they lead to is added."""
        parts, end = [], 0
        for code in CODE.finditer(text):
            parts += [self._in_prose(page, text[end : code.start()]), code[0]]
            end = code.end()
        return "".join([*parts, self._in_prose(page, text[end:])])

    def _in_prose(self, page: Path, prose: str) -> str:
        return LINK.sub(lambda link: f"{link[1]}{self._target(page, link[2])}{link[3]}", prose)

    def _target(self, page: Path, said: str) -> str:
        path, sign, anchor = said.partition("#")
        if not path or re.match(r"[a-z]+:", said):
            return said
        there = Path(os.path.normpath(self.root / page.parent / path))
        if there.is_dir():
            there /= "README.md"
        if not there.is_file() or not there.is_relative_to(self.root):
            raise BookError(f"{page}: the link to {said} leads to no file of the repository")
        led = self._page_of(there.relative_to(self.root))
        return os.path.relpath(led, page.parent) + sign + anchor

    def _page_of(self, file: Path) -> Path:
        """What shows a file: itself where it is a page or a picture."""
        if file.suffix == ".md":
            self.add(file)
            return file
        if file.suffix in PICTURES:
            (self.into / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / file, self.into / file)
            return file
        shown = shown_on(file)
        if shown not in self._made:
            self._made.add(shown)
            make = next((self.makers[end] for end in self.makers if file.name.endswith(end)), None)
            self.write(shown, self._as_it_is(file) if make is None else make(self.root / file))
        return shown

    def _as_it_is(self, file: Path) -> str:
        text = (self.root / file).read_text(encoding="utf-8")
        language = LANGUAGES.get(file.suffix, "text")
        return f"# {file.name}\n\n`{file}` of the repository:\n\n~~~~{language}\n{text}~~~~\n"


def _refuse_what_is_read_otherwise(page: Path, text: str) -> None:
    """Lists and what stands in them: the builder wants an empty line before a list, and four spaces before what belongs to a point."""
    prose = CODE.sub(lambda code: "\n" * code[0].count("\n") or "`", text)
    for pattern, what in (
        (LIST_AT_PROSE, "put an empty line before the list"),
        (SHALLOW, "indent what belongs to a point of a list by four spaces"),
    ):
        if found := pattern.search(prose):
            raise BookError(f"{page}, line {prose.count(chr(10), 0, found.end()) + 1}: {what}")
