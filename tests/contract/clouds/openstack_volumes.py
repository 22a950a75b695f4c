"""The stand-in of Cinder: volumes, their states, and which of them can be removed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from openstack_answers import RefusedCallError, due, filtered, need

VOLUME_TYPES = ["ssd", "hdd"]


class Cinder:
    """What a project has of volumes; servers know which they use."""

    volumes: dict[str, dict[str, Any]]
    looks: dict[str, int]
    quota: dict[str, int]
    slow: int
    linger: int
    bad_volumes: bool
    page: int

    def _cinder(self, method: str, path: str, asked: Any, query: dict[str, str]) -> tuple[int, Any]:
        _, what, identifier = [*path.split("/"), ""][:3]
        if path == "/volumes/detail":
            self._look_at_volumes()
            return 200, self._paged("volumes", list(self.volumes.values()), query)
        if path == "/types":
            return 200, {"volume_types": [{"id": each, "name": each} for each in VOLUME_TYPES]}
        if path == "/limits":
            return 200, {"limits": {"absolute": self._cinder_limits()}}
        if path == "/volumes" and method == "POST":
            return 202, {"volume": self._make_volume(asked["volume"])}
        if what == "volumes" and method == "DELETE":
            volume = need(self.volumes, identifier, f"Volume {identifier} could not be found.")
            if volume["status"] not in ("available", "error", "error_deleting"):
                raise RefusedCallError(
                    400,
                    "Invalid volume: Volume status must be available or error or error_restoring",
                )
            volume["status"] = "deleting"
            self.looks[identifier] = self.linger
            return 202, None
        raise RefusedCallError(404, "The resource could not be found.")

    def _cinder_limits(self) -> dict[str, int]:
        return {
            "maxTotalVolumes": self.quota.get("volumes", 1000),
            "totalVolumesUsed": len(self.volumes),
            "maxTotalVolumeGigabytes": self.quota.get("gigabytes", 100_000),
            "totalGigabytesUsed": sum(each["size"] for each in self.volumes.values()),
        }

    def _make_volume(self, asked: Any) -> dict[str, Any]:
        limits = self._cinder_limits()
        if limits["totalVolumesUsed"] >= limits["maxTotalVolumes"]:
            raise RefusedCallError(
                413,
                f"VolumeLimitExceeded: Maximum number of volumes allowed ({limits['maxTotalVolumes']}) exceeded for quota 'volumes'.",
            )
        kind = asked.get("volume_type", "__DEFAULT__")
        if kind not in (*VOLUME_TYPES, "__DEFAULT__"):
            raise RefusedCallError(404, f"Volume type with name {kind} could not be found.")
        made = {
            "id": str(uuid4()), "name": asked["name"], "size": asked["size"], "metadata": asked["metadata"],
            "volume_type": kind, "created_at": now(), "status": "creating",
        }  # fmt: skip
        self.volumes[made["id"]] = made
        self.looks[made["id"]] = self.slow
        return made

    def _look_at_volumes(self) -> None:
        for identifier, volume in due(self.looks, self.volumes):
            if volume["status"] == "deleting":
                del self.volumes[identifier]
            else:
                volume["status"] = "error" if self.bad_volumes else "available"

    def _paged(self, items: str, all_of_them: list[Any], query: dict[str, str]) -> dict[str, Any]:
        marker = query.pop("marker", None)
        found = filtered(all_of_them, query)
        if marker is not None:
            places = [each["id"] for each in found]
            found = found[places.index(marker) + 1 :]
        more = len(found) > self.page
        links = {f"{items}_links": [{"rel": "next", "href": "next"}]} if more else {}
        return {items: found[: self.page], **links}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000")
