"""Programs that use several names of a file, round by the command line: trace, model, kernel, replay, and again."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from commands_here import COMMANDS, run_here
from waiting import HANG_S
from wavetank.model.document.model import Model

Listing = dict[str, tuple[str, int]]
"""Names of a folder: what each is, and bytes."""


@dataclass(frozen=True)
class Round:
    """A program's model and the names that it left; the same of the replay of its kernel; and how they differ."""

    model: Model
    left: Listing
    left_by_replay: Listing
    difference: str
    not_reproduced: str


def wavetank(*argv: str | Path, cwd: Path, errors: bool = False) -> str:
    """Run a command, which must succeed; what it prints, or with ``errors`` what it says on standard error."""
    done = run_here(cwd, *argv) if argv[0] in COMMANDS else subprocess.run(
        [sys.executable, "-m", "wavetank", *map(str, argv)],
        check=False, cwd=cwd, capture_output=True, text=True, timeout=HANG_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr if errors else done.stdout


def listing(folder: Path) -> Listing:
    """The files of a folder, without folders and the replay's own note. Equal numbers are links of one file."""
    found: Listing = {}
    inodes: dict[int, str] = {}
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            found[path.name] = (f"symlink to {path.resolve().name}", 0)
        elif path.is_file() and path.name != ".wavetank-files.json":
            first = inodes.setdefault(path.stat().st_ino, path.name)
            found[path.name] = (
                "file" if first == path.name else f"link of {first}",
                path.stat().st_size,
            )
    return found


def go_round(
    argv: list[str], work: Path, folder: Path, launcher: str = "none", *, verify: bool = True
) -> Round:
    """Trace a command in ``work``; replay its kernel under trace below ``folder``; compare the models.

    Copies inside of the kernel are such calls in the replay too where it does not ``verify``.
    """
    first, kernel, second = folder / "first.json", folder / "kernel.json", folder / "second.json"
    root = folder / "root"
    root.mkdir()
    wavetank("trace", "-o", folder / "first.trace", "--", *argv, cwd=work)
    left = listing(work)
    wavetank("model", folder / "first.trace", "-o", first, cwd=work)
    told = wavetank("kernel", first, "-o", kernel, cwd=work)
    replay = ["replay", kernel, "--root", root, "--launcher", launcher]
    replay += ["--verify"] if verify else []
    wavetank(
        "trace", "-o", folder / "second.trace", "--", sys.executable, "-m", "wavetank", *replay,
        cwd=work,
    )  # fmt: skip
    wavetank("model", folder / "second.trace", "-o", second, cwd=work)
    difference = wavetank("diff", first, second, cwd=work)
    return Round(Model.read(first), left, listing(root), difference, told)
