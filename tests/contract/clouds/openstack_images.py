"""The stand-in of Glance: images, their states, and what Nova asks of one."""

from __future__ import annotations

from typing import Any

from openstack_answers import RefusedCallError, filtered


def _image(digit: str, name: str, status: str, min_disk: int, min_ram: int) -> dict[str, Any]:
    identifier = "-".join(digit * n for n in (8, 4, 4, 4, 12))
    then = "2026-11-01T00:00:00Z"
    return {
        "id": identifier, "name": name, "status": status, "min_disk": min_disk, "min_ram": min_ram, "visibility": "public",
        "owner": "operators", "size": 400_000_000, "disk_format": "raw", "container_format": "bare", "checksum": digit * 32,
        "created_at": then, "updated_at": then, "protected": False, "tags": [], "file": f"/v2/images/{identifier}/file",
        "self": f"/v2/images/{identifier}", "schema": "/v2/schemas/image",
    }  # fmt: skip


IMAGES = [
    _image("a", "Debian 12", "active", 3, 1024),
    _image("b", "old", "deactivated", 0, 0),
    _image("c", "twice", "active", 0, 0),
    _image("d", "twice", "active", 30, 0),
]
# What an image has by itself; all else is a property of its own (Glance's interface, "Show image schema").
SCHEMA = {
    "name": "image",
    "properties": {key: {"type": "string"} for key in IMAGES[0]},
    "additionalProperties": {"type": "string"},
}


class Glance:
    """Images that are there for all projects."""

    def _glance(self, method: str, path: str, asked: Any, query: dict[str, str]) -> tuple[int, Any]:
        if path == "/images":
            return 200, {"images": filtered(IMAGES, query)}
        if path == "/schemas/image":
            return 200, SCHEMA
        named = path.rpartition("/")[2]
        found = next((each for each in IMAGES if each["id"] == named), None)
        if found is None:
            raise RefusedCallError(404, f"No image found with ID {named}")
        return 200, found
