"""The only place that knows where the built C parts are.

``make setup`` builds native/ with CMake and installs it below build/native/install; a package
carries the same tree in wavetank/_native. WAVETANK_NATIVE_DIR names another one.
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


def _roots() -> list[Path]:
    named = os.environ.get("WAVETANK_NATIVE_DIR")
    package = Path(__file__).resolve().parent
    return [
        *([Path(named)] if named else []),
        package.parents[1] / "build" / "native" / "install",
        package / "_native",
    ]
