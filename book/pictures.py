"""``python -m book.pictures``: make the pictures of the documentation again, each in the one way that it is made.

A picture is a part of a report in a browser, or what a command writes. The reports are those of the examples; they are measured apart.
"""

from __future__ import annotations

import argparse
import base64
import io
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from book.browser import lacking, start
from book.errors import BookError, ended

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
LIMIT_S = 120.0
COLOURS = 128  # of a picture of a page: few plain colours, and edges of letters
MARGIN = 14  # pixels around a part of a page

# The part of a page from an element's upper edge to the lower edge of the last of some elements in it.
_PART = """
    const [whole, last] = arguments;
    const section = document.querySelector(whole);
    const ends = section === null ? [] : [...section.querySelectorAll(last)].filter(each => each.checkVisibility());
    if (ends.length === 0) return null;
    const box = section.getBoundingClientRect();
    const bottom = Math.max(...ends.map(each => each.getBoundingClientRect().bottom));
    return [box.left + scrollX, box.top + scrollY, box.width, bottom - box.top];
"""


@dataclass(frozen=True)
class Screenshot:
    """A picture of a report.

    Attributes:
        made_by: the command that leaves the report; a page that shows the picture names it.
        width: of the window, pixels.
        height: of the window, pixels.
        part: selectors of an element and of the last elements in it that are shown; None: the first screen.
    """

    made_by: str
    width: int
    height: int
    part: tuple[str, str] | None = None


@dataclass(frozen=True)
class Written:
    """A picture that a command writes; a page that shows it has the command as it stands.

    Attributes:
        made_by: the command.
        file: what it writes.
    """

    made_by: str
    file: str


PICTURES: dict[str, Screenshot | Written] = {
    "report.png": Screenshot("make demo", 1180, 860),
    "slowdown.png": Screenshot(
        "wavetank report applications-results -o report.html", 1280, 860, ("#study", "figure")
    ),
    "abyss-temporal.png": Written(
        "wavetank summary abyss.model.json --figures plots", "plots/temporal.png"
    ),
}
"""Every picture of the documentation, by its file in docs/images."""


def make(name: str, source: Path, images: Path) -> Path:
    """Make a picture again.

    Args:
        name: of the picture.
        source: the report, HTML, or the file that the picture's command wrote.
        images: folder of the pictures.

    Raises:
        BookError: there is no such picture or source, or the source does not have what is shown; or a browser is missing.
    """
    if name not in PICTURES:
        raise BookError(f"there is no picture {name}: there are {', '.join(sorted(PICTURES))}")
    wanted = PICTURES[name]
    if not source.is_file():
        raise BookError(f"there is no file {source}. It is what this leaves: {wanted.made_by}")
    if isinstance(wanted, Written):
        shutil.copyfile(source, images / name)
    else:
        (images / name).write_bytes(_fewer_colours(_taken(wanted, source)))
    return images / name


def _taken(wanted: Screenshot, report: Path) -> bytes:
    """A picture of a report, PNG."""
    if missing := lacking():
        raise BookError(f"a picture of a page {missing}")
    with tempfile.TemporaryDirectory(prefix="book-pictures-") as profile:
        driver = start(Path(profile), LIMIT_S)
        try:
            return _shown(driver, wanted, report)
        finally:
            driver.quit()


def _shown(driver: Chrome, wanted: Screenshot, report: Path) -> bytes:
    window = {
        "width": wanted.width,
        "height": wanted.height,
        "deviceScaleFactor": 1,
        "mobile": False,
    }
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": light})
    driver.get(report.resolve().as_uri())
    asked: dict[str, object] = {"format": "png"}
    if wanted.part is not None:
        part = driver.execute_script(_PART, *wanted.part)
        if part is None:
            raise BookError(
                f"{report} has no {' '.join(wanted.part)}. Take the report of: {wanted.made_by}"
            )
        left, top, width, height = part
        asked["captureBeyondViewport"] = True
        asked["clip"] = {
            "x": left - MARGIN, "y": top - MARGIN, "width": width + 2 * MARGIN,
            "height": height + 2 * MARGIN, "scale": 1,
        }  # fmt: skip
    answer = driver.execute_cdp_cmd("Page.captureScreenshot", asked)
    return base64.b64decode(answer["data"])


def _fewer_colours(png: bytes) -> bytes:
    written = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()


def main() -> int:
    """Make a picture again; 1 where it cannot be."""
    parser = argparse.ArgumentParser(
        prog="python -m book.pictures",
        description="Make a picture of the documentation again, in docs/images.",
        epilog="Pictures, and what leaves their sources:\n"
        + "\n".join(f"  {name}: {each.made_by}" for name, each in PICTURES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("picture", choices=PICTURES, help="its file in docs/images")
    parser.add_argument(
        "source", type=Path, help="the report (HTML), or the file that the command wrote"
    )
    given = parser.parse_args()
    return ended(lambda: f"wrote {make(given.picture, given.source, IMAGES)}")


if __name__ == "__main__":
    sys.exit(main())
