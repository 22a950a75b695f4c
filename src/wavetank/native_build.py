"""Builds the C parts from their sources: on this machine at first use, and on hosts by the same commands.

A package from an index carries the sources alone: what depends on MPI's binary interface is right for the MPI libraries of one machine.
What was built is kept in the user's cache by all that it depends on: content of the sources, distribution, architecture, and the compiler
wrappers of MPI that were found. Another of any of these is another build.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from wavetank.errors import NativeError
from wavetank.packages import how_to_install
from wavetank.steps import steps

TOOLS = {"cmake": "cmake", "cc": "gcc", "make": "make"}  # program -> Debian's package
TIMEOUT_S = 1800.0
RECORD = "built.json"
LOG = "build.log"
NO_MPI = (
    "no compiler wrapper of MPI was found (mpicc), so that MPI programs can be neither traced nor replayed. {remedy}; "
    "or put the mpicc of your MPI on PATH. The next command then builds anew"
)

# $1: sources, $2: folder of the build, $3: where the parts are put; then options of cmake. Beside the folder: its log.
# If it fails: what compilers say first of an error, and what was said last.
COMPILE = """sources=$1 build=$2 install=$3
shift 3
{
  cmake -S "$sources" -B "$build" -DCMAKE_INSTALL_PREFIX="$install" "$@" &&
  cmake --build "$build" --parallel "$(nproc)" &&
  cmake --install "$build"
} >"$build.log" 2>&1 || {
  grep -i error "$build.log" | head -n 4 >&2
  tail -n 3 "$build.log" >&2
  exit 1
}
"""


def source_files(sources: Path) -> list[Path]:
    """The files that are built, in one order; none whose name, or a folder's on the way, begins with a dot."""
    found = (each for each in sources.rglob("*") if each.is_file())
    return sorted(
        each
        for each in found
        if not any(part.startswith(".") for part in each.relative_to(sources).parts)
    )


def digest_of(sources: Path, files: Sequence[Path]) -> str:
    """Of names and content, 16 digits."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(sources)}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def kept(sources: Path) -> Path | None:
    """The folder with bin and lib that was built of these sources, for all that is found now; None where there is none.

    A build for more MPI libraries than are found now serves as well: a module may be loaded no more.
    """
    wanted = set(_wrappers())
    trees = []
    for record in _family(sources).glob(f"*/{RECORD}"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            if wanted <= set(json.loads(record.read_text())["wrappers"]):
                trees.append((record.stat().st_mtime_ns, record.parent))
    return max(trees)[1] if trees else None


def lacking() -> list[str]:
    """Programs without which nothing is built here."""
    path = _path()
    return [name for name in TOOLS if shutil.which(name, path=path) is None]


def how_to_get(programs: Sequence[str]) -> str:
    """A command that installs what builds."""
    said = how_to_install(*[TOOLS[name] for name in programs], "libc6-dev")
    return f"{said} (cmake also by: pip install cmake)" if "cmake" in programs else said


def build(sources: Path, *, again: bool = False) -> Path:
    """Build the parts for this machine, and keep them; whole or not at all, also where other processes do the same.

    Says on the way what is built, for which MPI libraries, and where it is kept.

    Args:
        sources: with their CMakeLists.txt.
        again: whatever was built before.

    Returns:
        The folder with bin and lib.

    Raises:
        NativeError: what builds is not installed, the cache cannot be written, or the sources do not build.
    """
    missing = lacking()
    if missing:
        raise NativeError(
            f"wavetank builds its C parts at first use, and this machine has no {', '.join(missing)}. Install what builds them: "
            f"{how_to_get(missing)}"
        )
    family = _family(sources)
    try:
        family.mkdir(parents=True, exist_ok=True)
        with _alone(family):
            before = None if again else kept(sources)  # another process may have built it meanwhile
            return before or _build(sources, family)
    except OSError as error:
        raise NativeError(
            f"the C parts cannot be built into {family}: {error.strerror or error}. Name a folder that you can write to: "
            "XDG_CACHE_HOME"
        ) from error


def cache_folder() -> Path:
    """Where builds are kept.

    Raises:
        NativeError: the user has no home.
    """
    try:
        return (
            Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
            / "wavetank"
            / "native"
        )
    except RuntimeError as error:
        raise NativeError(
            "the C parts have no place: this user has no home. Name a folder that you can write to: XDG_CACHE_HOME"
        ) from error


def _family(sources: Path) -> Path:
    """The folder of all builds of these sources for this distribution and architecture."""
    return cache_folder() / f"{_system()}-{_digest(sources)}"


@cache
def _digest(sources: Path) -> str:
    return digest_of(sources, source_files(sources))


def _system() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    said = f"{release.get('ID', 'linux')}-{release.get('VERSION_ID', '')}-{platform.machine()}"
    return re.sub(r"[^a-z0-9._-]", "_", said.lower())


def _path() -> str:
    """Where programs that build are looked for: PATH, then where pip puts those of this installation."""
    return f"{os.environ.get('PATH', os.defpath)}:{Path(sys.executable).parent}"


def _wrappers() -> list[str]:
    """The compiler wrappers of MPI that native/CMakeLists.txt may take, each with what tells it from a later one."""
    path, found = _path(), set()
    named = [os.environ.get("WAVETANK_MPICC") or "mpicc", "mpicc.openmpi", "mpicc.mpich"]
    fedora = [f"/usr/lib64/{family}/bin/mpicc" for family in ("openmpi", "mpich")]
    for name in [*named, *fedora]:
        with contextlib.suppress(OSError):
            if where := shutil.which(name, path=path):
                there = Path(where).resolve(strict=True)
                facts = there.stat()
                found.add(f"{there} {facts.st_size} {facts.st_mtime_ns}")
    return sorted(found)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            steps.info("waiting for another process, which builds the C parts in %s", folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(sources: Path, family: Path) -> Path:
    wrappers, began = _wrappers(), time.monotonic()
    steps.info("building the C parts (tracer, replay) for this machine, once, which takes a minute")
    with tempfile.TemporaryDirectory(prefix=".build-", dir=family) as scratch:
        folder = Path(scratch)
        _compile(sources, folder, family / LOG)
        said = re.findall(
            r"^-- MPI: (\w+) by (.+)$", (folder / LOG).read_text(errors="replace"), re.MULTILINE
        )
        record = {"wrappers": wrappers, "mpi": dict(said)}
        (folder / "install" / RECORD).write_text(json.dumps(record, indent=1) + "\n")
        tree = family / secrets.token_hex(4)
        (folder / "install").rename(tree)
    (family / LOG).unlink(missing_ok=True)
    names = {"openmpi": "Open MPI", "mpich": "MPICH"}
    by = " and ".join(f"{names.get(each, each)} ({wrapper})" for each, wrapper in said)
    steps.info(
        "built in %.0f s for %s, and kept in %s",
        time.monotonic() - began,
        by or "programs without MPI",
        tree,
    )
    if not said:
        remedy = how_to_install("libopenmpi-dev")
        steps.info("%s", NO_MPI.format(remedy=f"Install one: {remedy}"))
    return tree


def _compile(sources: Path, folder: Path, log: Path) -> None:
    """Have bin and lib in the folder's ``install``, and what was said in its ``build.log``.

    Raises:
        NativeError: they do not build. What was said is kept as ``log``.
    """
    named = os.environ.get("WAVETANK_MPICC")
    argv = ["sh", "-c", COMPILE, "sh", str(sources), str(folder / "build"), str(folder / "install")]
    process = subprocess.Popen(
        [*argv, *([f"-DWAVETANK_MPICC={named}"] if named else [])],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
        env={**os.environ, "PATH": _path(), "LC_ALL": "C"}, start_new_session=True,
    )  # fmt: skip
    try:
        _, said = process.communicate(timeout=TIMEOUT_S)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    if process.returncode != 0:
        shutil.copyfile(folder / "build.log", log)
        raise NativeError(
            f"the C parts do not build on this machine: {said.strip()}. All that was said is in {log}"
        )
