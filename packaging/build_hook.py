"""What packages hold besides the Python files: sources of the C parts, the commit, manual pages and shell completion.

Hatchling calls it (pyproject.toml). An installation of a source checkout for developers (pip install -e) has all of it in the checkout.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMIT = "_commit.txt"
COMPLETION = {
    "bash": "share/bash-completion/completions/wavetank",
    "zsh": "share/zsh/site-functions/_wavetank",
    "fish": "share/fish/vendor_completions.d/wavetank.fish",
}


class Hook(BuildHookInterface[Any]):
    """Adds them to wheels; to source packages, the commit alone."""

    def dependencies(self) -> list[str]:
        """What the parser is made of: manual pages are written from it."""
        return ["click>=8.1", "pydantic>=2.6"] if self.target_name == "wheel" else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make what is added."""
        if version == "editable":
            return
        root = Path(self.root)
        self.scratch = Path(tempfile.mkdtemp(prefix="wavetank-package-"))
        into = "src/wavetank" if self.target_name == "sdist" else "wavetank"
        if commit := commit_of(root):
            (self.scratch / COMMIT).write_text(commit + "\n", encoding="ascii")
            build_data["force_include"][str(self.scratch / COMMIT)] = f"{into}/{COMMIT}"
        if self.target_name == "sdist":
            return
        build_data["force_include"][str(root / "native")] = "wavetank/_native/source"
        sys.path.insert(0, str(root / "src"))
        from wavetank.cli.completion import script  # noqa: PLC0415 - it is not installed yet
        from wavetank.cli.manual import pages  # noqa: PLC0415

        for shell, place in COMPLETION.items():
            (self.scratch / shell).write_text(script(shell), encoding="utf-8")
            build_data["shared_data"][str(self.scratch / shell)] = place
        for name, text in pages(self.metadata.version).items():
            (self.scratch / name).write_text(text, encoding="utf-8")
            build_data["shared_data"][str(self.scratch / name)] = f"share/man/man1/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was made."""
        del version, build_data, artifact_path
        if hasattr(self, "scratch"):
            shutil.rmtree(self.scratch)


def commit_of(root: Path) -> str | None:
    """Of a checkout; None of other sources, as of those of a source package, which brings a file that says it."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        return None
    said = subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return said.stdout.strip() or None
