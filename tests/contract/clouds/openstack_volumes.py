"""The stand-in of Cinder: volumes, their states, and which of them can be removed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from openstack_answers import RefusedCallError, due, filtered, need
from openstack_images import IMAGES

VOLUME_TYPES = ["ssd", "hdd"]


class Cinder:
    """What a project has of volumes, and how they are attached."""

    def clear(self) -> None:
        self.slow = self.linger = 0
        self.page = 1000
        self.bad_volumes = False
        self.quota: dict[str, int] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.attachments: dict[str, dict[str, Any]] = {}
        self.looks: dict[str, int] = {}  # left until the next state

    def _cinder(
        self, method: str, path: str, asked: Any, query: dict[str, list[str]]
    ) -> tuple[int, Any]:
        _, what, identifier, action = [*path.split("/"), "", ""][:4]
        if path == "/volumes/detail":
            self._look_at_volumes()
            return 200, self._paged("volumes", list(self.volumes.values()), query)
        if path == "/types":
            return 200, {"volume_types": [{"id": each, "name": each} for each in VOLUME_TYPES]}
        if path == "/limits":
            return 200, {"limits": {"absolute": self._cinder_limits()}}
        if path == "/volumes" and method == "POST":
            return 202, {"volume": self._make_volume(asked["volume"])}
        if what == "attachments":
            return self._attachment(method, identifier, action, asked)
        if what == "volumes" and method == "GET" and identifier:
            words = f"Volume {identifier} could not be found."
            return 200, {"volume": need(self.volumes, identifier, words)}
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
        image = asked.get("imageRef")
        if image is not None:
            found = next((each for each in IMAGES if each["id"] == image), None)
            if found is None or found["status"] != "active":
                raise RefusedCallError(
                    400, f"Invalid image identifier or unable to access {image}."
                )
            if asked["size"] < found["min_disk"]:
                raise RefusedCallError(
                    400, f"Invalid input received: Volume size {asked['size']}GB cannot be smaller than the image minDisk size "
                    f"{found['min_disk']}GB.",
                )  # fmt: skip
        kind = asked.get("volume_type", "__DEFAULT__")
        if kind not in (*VOLUME_TYPES, "__DEFAULT__"):
            raise RefusedCallError(404, f"Volume type with name {kind} could not be found.")
        made = {
            "id": str(uuid4()), "name": asked["name"], "size": asked["size"], "metadata": asked["metadata"],
            "volume_type": kind, "created_at": now(), "status": "creating", "attachments": [], "multiattach": False,
            "bootable": str(image is not None).lower(), "availability_zone": "nova", "encrypted": False, "snapshot_id": None,
            "description": None,
        }  # fmt: skip
        self.volumes[made["id"]] = made
        self.looks[made["id"]] = self.slow
        return made

    def _attachment(self, method: str, identifier: str, action: str, asked: Any) -> tuple[int, Any]:
        """How Nova takes a volume: reserved, then attaching with a host, then in use; free when the attachment is gone."""
        if method == "POST" and not identifier:
            volume = self._free(asked["attachment"]["volume_uuid"])
            made = {"id": str(uuid4()), "volume_id": volume["id"], "instance": asked["attachment"]["instance_uuid"]}  # fmt: skip
            self.attachments[made["id"]] = made
            volume["status"] = "reserved"
            return 200, {"attachment": {**made, "status": "reserved", "connection_info": {}}}
        words = f"Volume attachment could not be found with filter: attachment_id = {identifier}."
        attachment = need(self.attachments, identifier, words)
        volume = self.volumes[attachment["volume_id"]]
        if method == "DELETE":
            del self.attachments[identifier]
            volume |= {"status": "available", "attachments": []}
            return 200, {"attachments": []}
        if method == "PUT":
            volume["status"] = "attaching"
            attachment["connection_info"] = {"driver_volume_type": "fake", "volume_id": volume["id"]}  # fmt: skip
        if action == "action":
            if volume["status"] != "attaching":
                raise RefusedCallError(400, "Invalid volume: it is not being attached")
            shown = {"server_id": attachment["instance"], "attachment_id": identifier, "device": "/dev/vdb"}  # fmt: skip
            volume |= {"status": "in-use", "attachments": [shown]}
            return 204, None
        return 200, {"attachment": {**attachment, "status": volume["status"]}}

    def _free(self, identifier: str) -> dict[str, Any]:
        volume = need(self.volumes, identifier, f"Volume {identifier} could not be found.")
        if volume["status"] != "available":
            raise RefusedCallError(
                400,
                f"Invalid volume: Volume {identifier} status must be available or downloading to reserve, but the current status is "
                f"{volume['status']}.",
            )
        return volume

    def _look_at_volumes(self) -> None:
        for identifier, volume in due(self.looks, self.volumes):
            if volume["status"] == "deleting":
                del self.volumes[identifier]
            else:
                volume["status"] = "error" if self.bad_volumes else "available"

    def _paged(
        self, items: str, all_of_them: list[Any], query: dict[str, list[str]]
    ) -> dict[str, Any]:
        (marker,) = query.pop("marker", [""])
        found = filtered(all_of_them, query)
        if marker:
            places = [each["id"] for each in found]
            found = found[places.index(marker) + 1 :]
        more = len(found) > self.page
        links = {f"{items}_links": [{"rel": "next", "href": "next"}]} if more else {}
        return {items: found[: self.page], **links}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000000")
