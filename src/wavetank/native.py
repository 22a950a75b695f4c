"""The only place that knows where the built C parts are.

``make setup`` builds native/ with CMake and installs it below build/native/install; a package
carries the same tree in wavetank/_native. WAVETANK_NATIVE_DIR names another one. Their sources are in native/ of the source
directory; an installation elsewhere may have them in
wavetank/_native/source. WAVETANK_NATIVE_SOURCES names another folder.
"""

from __future__ import annotations

import os
from pathlib import Path

from wavetank.errors import WavetankError


class NativeError(WavetankError):
    """A C part of wavetank is missing."""


def find(name: str, what_for: str) -> Path:
    """Path of a built library or program.

    Args:
        name: relative to the installation, e.g. "lib/libwavetank-trace.so" or "bin/wavetank-replay-openmpi".
        what_for: ends the sentence "it is needed to ..." in the message.

    Raises:
        NativeError: it is not built.
    """
    roots = _roots()
    for root in roots:
        if (root / name).is_file():
            return root / name
    raise NativeError(
        f"{name} is not built; it is needed to {what_for}. Looked in {', '.join(str(root) for root in roots)}. "
        "Run 'make setup' in wavetank's source directory, or set WAVETANK_NATIVE_DIR"
    )


def available(name: str) -> bool:
    """Whether a C part is built."""
    return any((root / name).is_file() for root in _roots())


def is_part(word: str) -> bool:
    """Whether a word is the path of a C part of this installation."""
    return word.startswith("/") and any(
        Path(word).is_relative_to(root) and Path(word).is_file() for root in _roots()
    )


def name_of(path: Path) -> str | None:
    """Name of a C part of this installation, as ``find`` takes it; None of anything else."""
    return next(
        (str(path.relative_to(root)) for root in _roots() if path.is_relative_to(root)), None
    )


def sources(what_for: str) -> Path:
    """Folder with the sources of the C parts, and their CMakeLists.txt.

    Args:
        what_for: ends the sentence "they are needed to ..." in the message.

    Raises:
        NativeError: this installation has none.
    """
    named = os.environ.get("WAVETANK_NATIVE_SOURCES")
    package = Path(__file__).resolve().parent
    folders = [
        *([Path(named)] if named else []),
        package.parents[1] / "native",
        package / "_native" / "source",
    ]
    for folder in folders:
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise NativeError(
        f"the sources of wavetank's C parts are not in this installation; they are needed to {what_for}. "
        f"Looked in {', '.join(str(folder) for folder in folders)}. Set WAVETANK_NATIVE_SOURCES to the folder native/ of "
        "wavetank's source directory"
    )


def _roots() -> list[Path]:
    named = os.environ.get("WAVETANK_NATIVE_DIR")
    package = Path(__file__).resolve().parent
    return [
        *([Path(named)] if named else []),
        package.parents[1] / "build" / "native" / "install",
        package / "_native",
    ]
