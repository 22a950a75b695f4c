"""Where what is of a service lies in its folder, as far as others than the service itself need to know."""

from __future__ import annotations

from pathlib import Path


def admin_socket(folder: Path) -> Path:
    """The administrator's socket."""
    return folder / "admin.sock"


def audit_log(folder: Path) -> Path:
    """The audit log: one JSON object a line."""
    return folder / "audit.jsonl"
