"""A node: spaces are mounted on this machine, once for each volume, and shown to each container that has it.

Nothing is remembered: what is done is what is mounted. So a call that a killed process began is finished by the same call again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from wavetank.cluster.facade import Host, NamespaceHost, OptionValue, end_daemons
from wavetank.errors import WavetankError
from wavetank.service.csi import messages
from wavetank.service.csi.messages import Message, made
from wavetank.service.csi.mounts import (
    MOUNTERS,
    Mount,
    Mounter,
    answers,
    bind,
    mounts_at,
    unmount,
)
from wavetank.service.csi.requests import see_capability, see_volume
from wavetank.service.csi.statuses import CallError, Code, invalid
from wavetank.service.csi.turns import Call, Turns

CAPABILITIES = (messages.STAGE_UNSTAGE, messages.VOLUME_STATS)


class Node:
    """Answers a node's calls.

    Attributes:
        node_id: address of this node, by which servers know it.
        folder: of what mount programs say, a folder for each volume.
        mounters: by kind.
    """

    service = "Node"

    def __init__(
        self,
        node_id: str,
        folder: Path,
        mounters: Mapping[str, Mounter] = MOUNTERS,
    ) -> None:
        self.node_id = node_id
        self.folder = folder
        self.mounters = mounters
        self._turns = Turns()

    def node_get_info(self, request: Message, call: Call) -> Message:
        """The address of this node."""
        del request, call
        return made("NodeGetInfoResponse", node_id=self.node_id)

    def node_get_capabilities(self, request: Message, call: Call) -> Message:
        """Which calls there are."""
        del request, call
        found = [made("RpcCapability", rpc=made("TypeOf", type=each)) for each in CAPABILITIES]
        return made("NodeGetCapabilitiesResponse", capabilities=found)

    def node_stage_volume(self, request: Message, call: Call) -> Message:
        """Mount a space."""
        at = _path("staging_target_path", request.staging_target_path)
        see_volume(request)
        see_capability(request)
        kind, export = request.publish_context.get("kind"), request.publish_context.get("export")
        if not kind or not export:
            raise invalid(
                "publish_context: it has no kind and no export. The controller gives them"
            )
        if kind not in self.mounters:
            raise CallError(
                Code.FAILED_PRECONDITION,
                f"this node cannot mount {kind}, but {', '.join(self.mounters)}",
            )
        mounter = self.mounters[kind]
        options = _options(request.volume_capability.mount.mount_flags, mounter)
        with self._turns.of(request.volume_id, call):
            there = mounts_at(at)
            if there and not mounter.is_of(there[-1], export):
                raise CallError(Code.ALREADY_EXISTS, f"{at} has {there[-1].source}, not {export}")
            if len(there) == 1 and answers(at):
                return made("NodeStageVolumeResponse")
            host = self._host(request.volume_id)
            unmount(host, at)
            try:
                Path(at).mkdir(parents=True, exist_ok=True)
                mounter.mount(host, export, at, options)
            except OSError as error:
                raise _not_a_directory(at, error) from error
            except WavetankError as error:
                with suppress(WavetankError):
                    unmount(host, at)
                raise CallError(Code.INTERNAL, f"cannot mount {export}: {error}") from error
        return made("NodeStageVolumeResponse")

    def node_unstage_volume(self, request: Message, call: Call) -> Message:
        """Unmount a space. One that is not mounted is unmounted."""
        at = _path("staging_target_path", request.staging_target_path)
        see_volume(request)
        with self._turns.of(request.volume_id, call):
            self._unmount(request.volume_id, at)
            end_daemons(self._folder(request.volume_id))
            shutil.rmtree(self._folder(request.volume_id), ignore_errors=True)
        return made("NodeUnstageVolumeResponse")

    def node_publish_volume(self, request: Message, call: Call) -> Message:
        """Show a space to a container."""
        at = _path("target_path", request.target_path)
        staged_at = _path("staging_target_path", request.staging_target_path)
        see_volume(request)
        see_capability(request)
        mode = request.volume_capability.access_mode.mode
        read_only = request.readonly or mode in messages.READERS_ONLY
        with self._turns.of(request.volume_id, call):
            staged = mounts_at(staged_at)
            if not staged or not answers(staged_at):
                raise CallError(
                    Code.FAILED_PRECONDITION,
                    f"{request.volume_id} is not mounted at {staged_at}: stage it",
                )
            if _is_shown(mounts_at(at), staged[-1], read_only):
                return made("NodePublishVolumeResponse")
            host = self._host(request.volume_id)
            try:
                Path(at).mkdir(parents=True, exist_ok=True)
                bind(host, staged_at, at, read_only)
            except OSError as error:
                raise _not_a_directory(at, error) from error
            except WavetankError as error:
                raise CallError(Code.INTERNAL, f"cannot show {at}: {error}") from error
        return made("NodePublishVolumeResponse")

    def node_unpublish_volume(self, request: Message, call: Call) -> Message:
        """Show a space to a container no more, and remove its directory."""
        at = _path("target_path", request.target_path)
        see_volume(request)
        with self._turns.of(request.volume_id, call):
            self._unmount(request.volume_id, at)
            try:
                Path(at).rmdir()
            except FileNotFoundError:
                pass
            except OSError as error:
                raise CallError(Code.INTERNAL, f"cannot remove {at}: {error.strerror}") from error
        return made("NodeUnpublishVolumeResponse")

    def node_get_volume_stats(self, request: Message, call: Call) -> Message:
        """Bytes and files of a space that is mounted."""
        del call
        see_volume(request)
        if not request.volume_path:
            raise invalid("volume_path: say where it is mounted")
        if not mounts_at(request.volume_path):
            raise CallError(
                Code.NOT_FOUND, f"{request.volume_id} is not mounted at {request.volume_path}"
            )
        try:
            found = os.statvfs(request.volume_path)
        except OSError as error:
            raise CallError(
                Code.INTERNAL, f"{request.volume_path} does not answer: {error.strerror}"
            ) from error
        size = found.f_frsize
        by_bytes = made(
            "VolumeUsage",
            available=found.f_bavail * size,
            total=found.f_blocks * size,
            used=(found.f_blocks - found.f_bfree) * size,
            unit=messages.BYTES,
        )
        by_files = made(
            "VolumeUsage",
            available=found.f_favail,
            total=found.f_files,
            used=found.f_files - found.f_ffree,
            unit=messages.INODES,
        )
        return made("NodeGetVolumeStatsResponse", usage=[by_bytes, by_files])

    def _unmount(self, volume: str, at: str) -> None:
        try:
            unmount(self._host(volume), at)
        except WavetankError as error:
            raise CallError(Code.INTERNAL, f"cannot unmount {at}: {error}") from error

    def _folder(self, volume: str) -> Path:
        # A volume's identity is its caller's word: nothing in it has a meaning in a path.
        return self.folder / volume.encode().hex()[:200]

    def _host(self, volume: str) -> Host:
        folder = self._folder(volume)
        folder.mkdir(parents=True, exist_ok=True)
        return NamespaceHost("this-node", self.node_id, (), folder, None)


def _is_shown(there: tuple[Mount, ...], staged: Mount, read_only: bool) -> bool:
    """Whether a place has the volume as asked for; not yet where it is to be read-only, which comes after the mount.

    Raises:
        CallError: ALREADY_EXISTS: it has something else, or is read-only and should not be.
    """
    if not there:
        return False
    if there[-1].place != staged.place:
        raise CallError(Code.ALREADY_EXISTS, f"{there[-1].at} has {there[-1].source}")
    if there[-1].read_only and not read_only:
        raise CallError(Code.ALREADY_EXISTS, f"{there[-1].at} is read-only")
    return there[-1].read_only == read_only


def _not_a_directory(at: str, error: OSError) -> CallError:
    return CallError(Code.INTERNAL, f"cannot make the directory {at}: {error.strerror}")


def _path(field: str, path: str) -> str:
    if not path.startswith("/") or ".." in path.split("/"):
        raise invalid(f"{field}: it is no absolute path")
    return path


def _options(flags: Message, mounter: Mounter) -> dict[str, OptionValue]:
    """Mount flags as options: "rsize=1048576", "sync"."""
    found: dict[str, OptionValue] = {}
    for flag in flags:
        name, equals, value = flag.partition("=")
        if name not in mounter.known():
            known = ", ".join(sorted(mounter.known()))
            raise invalid(f"mount flag {flag!r} is none of this node; there are {known}")
        found[name] = value if equals else True
    return found
