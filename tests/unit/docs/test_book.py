"""The book is built of all pages as they are; what is wrong with a page is said, and nothing is loaded from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from book import links, notebooks
from book.errors import BookError, ended
from book.navigation import parts_of
from book.pages import Copies, pages_of
from book.site import HOME, build

ROOT = Path(__file__).parents[3]


def test_the_book_is_whole(tmp_path: Path) -> None:
    """Each page and each link in it; ``build`` refuses links that lead nowhere and what is loaded from elsewhere."""
    site = build(ROOT, tmp_path / "book")
    assert [str(p) for p in pages_of(ROOT) if not (site / _html(p)).is_file()] == []
    start = (site / "docs/start.html").read_text()
    assert 'href="how-to/install.html' in start
    assert "1PxCN" in (site / "search.js").read_text()  # which pages opened from a folder can read
    schema = (site / "docs/reference/schemas/campaign-spec.schema.json.html").read_text()
    assert "<code>repetitions</code>" in schema  # a key has a paragraph
    assert "Trace.events(" in (site / "docs/reference/python.html").read_text()
    commands = (site / "docs/reference/commands.html").read_text()
    assert "--split-at-communication" in commands and "wavetank cluster up" in commands
    example = (site / "examples/aws/campaign.yaml.html").read_text()
    assert "clusters" in example  # shown on a page of its own
    for notebook in ("look-at-a-log", "compare-two-runs", "from-campaign-to-figure"):
        shown = (site / f"docs/notebooks/{notebook}.ipynb.html").read_text()  # performed
        assert "<caption>" in shown or "<pre>" in shown
        assert shown.count("data:image/svg+xml") == 2
    decision = (site / "docs/decisions/book-by-zensical.html").read_text()
    assert "Reports" in decision.partition("md-sidebar--primary")[2]  # by topic


def _html(page: Path) -> Path:
    return page.with_name("index.html") if page.name == HOME.name else page.with_suffix(".html")


def test_parts_are_headings_and_points_of_the_index(tmp_path: Path) -> None:
    index = "# All\n\n## Start\n\n- [begin](a.md): here\n\n## More\n\n### Inner\n\n- [why](d/README.md)\n"
    (tmp_path / "docs/d").mkdir(parents=True)
    (tmp_path / "docs/README.md").write_text(index)
    (tmp_path / "docs/d/README.md").write_text("# D\n\n## Topic\n\n- [a reason](a.md)\n")
    start, more = parts_of(tmp_path)
    assert start.toml() == '{ "Start" = [{ "Begin" = "docs/a.md" }] }'
    assert '{ "Topic" = [{ "A reason" = "docs/d/a.md" }] }' in more.toml()
    assert more.pages() == {Path("docs/d/README.md"), Path("docs/d/a.md")}


def test_a_page_that_the_index_does_not_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/README.md").write_text("## A\n\n- [b](b.md)\n")
    for name in ("b", "forgotten"):
        (tmp_path / f"docs/{name}.md").touch()
    with pytest.raises(BookError, match=r"does not name docs/forgotten\.md"):
        build(tmp_path, tmp_path / "book")
    assert not (tmp_path / "book").exists()


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/README.md").write_text("## A\n\n- [b](b.md)\n")
    (tmp_path / "docs/b.md").touch()
    with pytest.raises(BookError, match="holds something else"):
        build(tmp_path, tmp_path / "docs")
    assert (tmp_path / "docs/b.md").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a](no.md)", "a.md: the link to no.md leads to no file"),
        ("[a](../../etc/passwd)", "leads to no file of the repository"),
        ("# A\n\nThese:\n- a\n- b\n", "a.md, line 4: put an empty line"),
        ("# A\n\n- a\n\n  more\n", "a.md, line 5: indent"),
        ("```\nThese:\n- a\n[a](no.md)\n```\n`[a](no.md)`", None),
        ("- a\n\n    more\n", None),
    ],
)
def test_what_is_wrong_with_a_page_is_said_with_its_place(
    text: str, said: str | None, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(text)
    copies = Copies(tmp_path, tmp_path / "copies", {})
    if said is None:
        copies.add(Path("a.md"))
        assert (tmp_path / "copies/a.md").read_text() == text
        return
    with pytest.raises(BookError, match=said):
        copies.add(Path("a.md"))


def notebook(folder: Path, *cells: str) -> Path:
    file = folder / "a.ipynb"
    found = [{"cell_type": "code", "source": [cell]} for cell in cells]
    file.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["# A"]}, *found]}))
    return file


def test_a_notebook_shows_what_cells_print_and_their_last_values(tmp_path: Path) -> None:
    shown = notebooks.page(notebook(tmp_path, "a = 20\nprint(a)", "a + 1", "b = 3"))
    blocks = [line for line in shown.splitlines() if not line.startswith("~~~~")]
    assert [line for line in blocks if line][:6] == [
        "# A",
        "a = 20",
        "print(a)",
        "20",
        "a + 1",
        "21",
    ]
    assert shown.count("~~~~text") == 2  # an assignment shows nothing


def test_a_cell_that_fails_is_named(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"a\.ipynb, cell 3: ZeroDivisionError"):
        notebooks.page(notebook(tmp_path, "a = 0", "1 / a"))


def test_links_to_what_is_no_page_lead_to_a_page_that_shows_it(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text(
        "[a](../x.yaml) ![b](b.png) [c](.#there) [d](https://e.org)\n"
    )
    (tmp_path / "x.yaml").write_text("a: 1\n")
    (tmp_path / "docs/b.png").write_bytes(b"")
    (tmp_path / "docs/README.md").touch()
    Copies(tmp_path, tmp_path / "copies", {}).add(Path("docs/a.md"))
    led = "[a](../x.yaml.md) ![b](b.png) [c](README.md#there) [d](https://e.org)\n"
    assert (tmp_path / "copies/docs/a.md").read_text() == led
    assert "~~~~yaml\na: 1\n~~~~" in (tmp_path / "copies/x.yaml.md").read_text()
    assert (tmp_path / "copies/docs/b.png").exists()


def test_what_a_site_lacks_and_what_it_loads_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#no">b</a><a href=c.html>c</a><a href="https://e.org">e</a>'
        '<img src="//e.org/p.png"><a href="#here">h</a><p id=here>'
    )
    (tmp_path / "b.html").write_text('<h2 id="yes">b</h2><a href="a.html">a</a>')
    (tmp_path / "s.css").write_text("@import 'https://e.org/f.css'; a { b: url(data:x) }")
    assert links.mistakes(tmp_path) == [
        "a.html leads to b.html#no, a heading that is not there",
        "a.html leads to c.html, which is not there",
        "a.html loads //e.org/p.png from elsewhere",
        "s.css loads https://e.org/f.css from elsewhere",
    ]


def test_a_command_of_the_book_tells_what_it_did_or_what_is_wrong(capsys) -> None:
    def wrong() -> str:
        raise BookError("page a.md leads nowhere")

    assert ended(lambda: "wrote the site") == 0
    assert ended(wrong) == 1
    assert capsys.readouterr() == ("book: wrote the site\n", "book: page a.md leads nowhere\n")
