"""Pictures of the documentation: each is made in one way, which a page that shows it names."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from book.browser import lacking
from book.errors import BookError
from book.pictures import IMAGES, MARGIN, PICTURES, ROOT, Screenshot, Written, make

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
needs_browser = pytest.mark.skipif(lacking() is not None, reason=str(lacking()))
SHOWN = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


def showing() -> dict[Path, list[Path]]:
    """Each picture that a page shows, with those pages."""
    found: dict[Path, list[Path]] = {}
    for page in PAGES:
        for target in SHOWN.findall(page.read_text()):
            found.setdefault((page.parent / target).resolve(), []).append(page)
    return found


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height of a PNG in pixels (its specification, section 11.2.2)."""
    header = picture.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", header[16:])
    return width, height


def test_every_picture_that_a_page_shows_is_made_and_every_one_that_is_made_is_shown() -> None:
    made = {(IMAGES / name).resolve() for name in PICTURES}
    assert set(showing()) == made
    assert {each.resolve() for each in IMAGES.iterdir()} == made


@pytest.mark.parametrize("name", PICTURES)
def test_a_page_that_shows_a_picture_names_the_command_that_leaves_what_it_is_made_of(name) -> None:
    pages = showing()[(IMAGES / name).resolve()]
    assert any(PICTURES[name].made_by in page.read_text() for page in pages)


@pytest.mark.parametrize(
    "name", [name for name, how in PICTURES.items() if isinstance(how, Screenshot)]
)
def test_a_picture_of_a_page_has_the_width_that_its_window_gives(name) -> None:
    window = PICTURES[name]
    width, height = size_of(IMAGES / name)
    if window.part is None:
        assert (width, height) == (window.width, window.height)
    else:
        assert width < window.width


@pytest.mark.parametrize(
    "name", [name for name, how in PICTURES.items() if isinstance(how, Written)]
)
def test_what_a_command_wrote_is_taken_as_it_is(name, tmp_path) -> None:
    (tmp_path / "written.png").write_bytes(b"as the command wrote it")
    assert make(name, tmp_path / "written.png", tmp_path).read_bytes() == b"as the command wrote it"


@pytest.mark.parametrize("name", ["report.png", "other.png"])
def test_what_is_not_there_is_said_with_what_to_do(name, tmp_path) -> None:
    with pytest.raises(BookError, match=r"make demo|there are abyss-temporal\.png"):
        make(name, tmp_path / "report.html", tmp_path)
    assert list(tmp_path.iterdir()) == []


STUDY = """<!doctype html><style>body{margin:0} section{margin:40px 100px 0} figure{height:200px; margin:10px 0}</style>
<section id=study><figure></figure><figure></figure><p style="height:5000px">a long table</p></section>"""


@needs_browser
def test_a_part_of_a_page_is_taken_to_the_end_of_what_it_shows(tmp_path) -> None:
    report = tmp_path / "report.html"
    report.write_text(STUDY)
    picture = make("slowdown.png", report, tmp_path)
    # The window has 1280 pixels: 1080 beside the margins of the section; two figures, and what is between them.
    assert size_of(picture) == (1080 + 2 * MARGIN, 200 + 10 + 200 + 2 * MARGIN)


@needs_browser
def test_a_report_without_what_is_shown_is_refused(tmp_path) -> None:
    report = tmp_path / "report.html"
    report.write_text("<!doctype html><p>a report of something else</p>")
    with pytest.raises(
        BookError, match=r"has no #study figure\. Take the report of: wavetank report"
    ):
        make("slowdown.png", report, tmp_path)
    assert not (tmp_path / "slowdown.png").exists()
