"""Parts of paths as a replay names its files: without blanks and other characters that stand out in a command line."""

from __future__ import annotations

import re

ROOT = "_root"
"""What a replay calls the directory that has no name, /."""
_UNSAFE = re.compile(r"[^\w.+=,@:-]+", re.ASCII)


def plain_name(part: str) -> str:
    """A name of a file or folder with an underscore for each run of such characters; never "." or ".."."""
    cleaned = _UNSAFE.sub("_", part)
    return "_" + cleaned.lstrip(".") if cleaned.strip(".") == "" else cleaned
