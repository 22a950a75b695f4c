"""The only place that knows where the built C parts are.

``make setup`` builds native/ with CMake and installs it below build/native/install; a package of a distribution
carries the same tree in wavetank/_native. WAVETANK_NATIVE_DIR names another one. Their sources are in native/ of the source
directory, and in wavetank/_native/source of a package, which has them built for the machine when a part is first asked for
(``wavetank.native_build``). WAVETANK_NATIVE_SOURCES names another folder.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from wavetank import native_build
from wavetank.errors import NativeError
from wavetank.packages import how_to_install

__all__ = ["NativeError", "available", "built", "find", "is_part", "name_of", "sources"]
log = logging.getLogger(__name__)
_refusals: dict[Path, NativeError] = {}  # of this process: what failed is not tried again


def find(name: str, what_for: str) -> Path:
    """Path of a built library or program; a package builds its parts when the first is asked for.

    Args:
        name: relative to the installation, e.g. "lib/libwavetank-trace.so" or "bin/wavetank-replay-openmpi".
        what_for: ends the sentence "it is needed to ..." in the message.

    Raises:
        NativeError: it is not built, and cannot be built here.
    """
    path = _look(name)
    if path is None and builds():
        try:
            path = _file(_build(), name)
        except NativeError as error:
            raise NativeError(f"{name} is needed to {what_for}. {error}") from error
    if path is not None:
        return path
    looked = f"{name} is not built; it is needed to {what_for}. Looked in {', '.join(map(str, _roots()))}"
    if builds():
        raise NativeError(f"{looked}. {why_not(name)}")
    raise NativeError(
        f"{looked}. Run 'make setup' in wavetank's source directory, or set WAVETANK_NATIVE_DIR"
    )


def available(name: str) -> bool:
    """Whether there is a C part; a package builds its parts when the first is asked for. Why it cannot is logged."""
    if _look(name) is None and builds():
        known = set(_refusals)
        try:
            return _file(_build(), name) is not None
        except NativeError as error:
            if set(_refusals) != known:  # not said yet
                log.warning("%s", error)
            return False
    return built(name)


def built(name: str) -> bool:
    """Whether a C part is built already: nothing is built by asking."""
    return _look(name) is not None


def builds() -> bool:
    """Whether this installation builds its parts at first use: a package that brought their sources."""
    return not os.environ.get("WAVETANK_NATIVE_DIR") and (_packaged() / "CMakeLists.txt").is_file()


def how_to_build() -> str:
    """The command that builds the parts of this installation anew."""
    return "wavetank doctor --build" if builds() else "make setup"


def build_again() -> Path:
    """Build the parts of a package anew, whatever was built before.

    Returns:
        The folder with bin and lib.

    Raises:
        NativeError: they cannot be built here, or this is no package.
    """
    if not builds():
        raise NativeError(
            "this installation does not build its own C parts: run 'make setup' in wavetank's source directory"
        )
    return native_build.build(_packaged(), again=True)


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
    folders = [
        *([Path(named)] if named else []),
        _package().parents[1] / "native",
        _packaged(),
    ]
    for folder in folders:
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise NativeError(
        f"the sources of wavetank's C parts are not in this installation; they are needed to {what_for}. "
        f"Looked in {', '.join(str(folder) for folder in folders)}. Set WAVETANK_NATIVE_SOURCES to the folder native/ of "
        "wavetank's source directory"
    )


def _package() -> Path:
    return Path(__file__).resolve().parent


def _packaged() -> Path:
    return _package() / "_native" / "source"


def _look(name: str) -> Path | None:
    return next((path for root in _roots() if (path := _file(root, name)) is not None), None)


def _file(root: Path, name: str) -> Path | None:
    return root / name if (root / name).is_file() else None


def _build() -> Path:
    if refusal := _refusals.get(_packaged()):
        raise refusal
    try:
        return native_build.build(_packaged())
    except NativeError as error:
        _refusals[_packaged()] = error
        raise


def why_not(name: str) -> str:
    """Why a build on this machine is without a part, and what to do."""
    if name == "bin/wavetank-nfs-mount":
        how = how_to_install("libfuse3-dev", "libnfs-dev", "pkg-config")
        return f"The machine had no libfuse3 or libnfs. {how}, then: wavetank doctor --build"
    package = "libopenmpi-dev" if "openmpi" in name else "libmpich-dev"
    return (
        f"No compiler wrapper of that MPI was found. {how_to_install(package)}; or put its mpicc on PATH, or name it: "
        "WAVETANK_MPICC. Then: wavetank doctor --build"
    )


def _roots() -> list[Path]:
    named = os.environ.get("WAVETANK_NATIVE_DIR")
    here = native_build.kept(_packaged()) if builds() else None
    return [
        *([Path(named)] if named else []),
        _package().parents[1] / "build" / "native" / "install",
        _package() / "_native",
        *([here] if here else []),
    ]
