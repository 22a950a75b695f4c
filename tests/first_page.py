"""What the first page of the documentation lets an ordinary user type."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/start.md"


def commands() -> str:
    """Lines of shell of its first block, but for the installation, which is the first of them."""
    block = PAGE.read_text().split("## Without root")[1].split("```\n")[1]
    installation, rest = block.split("\n", 1)
    assert installation.startswith("pip install . ")
    return rest
