"""``python -m book``: build the site and look whether its links lead somewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from book.errors import ended
from book.site import build

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Build the book; 1 where something is wrong with a page."""
    parser = argparse.ArgumentParser(prog="python -m book", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "build/book",
        metavar="FOLDER",
        help="folder of the book, made anew (default: build/book)",
    )
    given = parser.parse_args()
    return ended(lambda: f"open {build(ROOT, given.output) / 'index.html'} in a browser")


if __name__ == "__main__":
    sys.exit(main())
