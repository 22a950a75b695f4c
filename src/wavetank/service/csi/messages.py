"""The messages of the Container Storage Interface 1.13 that are read or written here.

Names, numbers and types of fields are those of the specification (csi.proto of package csi.v1); nothing else goes over the wire.
Fields that are left out are passed over by whoever reads. Enumerations are integers on the wire, and are so here.

Why no generated stubs: they are 5,000 lines that must fit the installed protobuf, or need a compiler at installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "csi.v1"
Message: TypeAlias = Any
"""Of a class that is made while the program runs: its fields are those of ``FIELDS``."""

# Message -> fields as "name type number"; "*" before a type: repeated; map: of strings to strings.
FIELDS: Mapping[str, str] = {
    # Identity
    "GetPluginInfoRequest": "",
    "GetPluginInfoResponse": "name string 1, vendor_version string 2",
    "GetPluginCapabilitiesRequest": "",
    "GetPluginCapabilitiesResponse": "capabilities *PluginCapability 1",
    "PluginCapability": "service TypeOf 1, volume_expansion TypeOf 2",
    "TypeOf": "type int32 1",
    "ProbeRequest": "",
    "ProbeResponse": "ready BoolValue 1",
    "BoolValue": "value bool 1",
    # what others are made of
    "BlockVolume": "",
    "MountVolume": "fs_type string 1, mount_flags *string 2, volume_mount_group string 3",
    "AccessMode": "mode int32 1",
    "VolumeCapability": "block BlockVolume 1, mount MountVolume 2, access_mode AccessMode 3",
    "CapacityRange": "required_bytes int64 1, limit_bytes int64 2",
    "ContentSource": "",
    "Volume": "capacity_bytes int64 1, volume_id string 2, volume_context map 3",
    # Controller
    "CreateVolumeRequest": "name string 1, capacity_range CapacityRange 2, volume_capabilities *VolumeCapability 3, "
    "parameters map 4, volume_content_source ContentSource 6, mutable_parameters map 8",
    "CreateVolumeResponse": "volume Volume 1",
    "DeleteVolumeRequest": "volume_id string 1",
    "DeleteVolumeResponse": "",
    "ControllerPublishVolumeRequest": "volume_id string 1, node_id string 2, volume_capability VolumeCapability 3, readonly bool 4",
    "ControllerPublishVolumeResponse": "publish_context map 1",
    "ControllerUnpublishVolumeRequest": "volume_id string 1, node_id string 2",
    "ControllerUnpublishVolumeResponse": "",
    "ValidateVolumeCapabilitiesRequest": "volume_id string 1, volume_context map 2, volume_capabilities *VolumeCapability 3, "
    "parameters map 4, mutable_parameters map 6",
    "Confirmed": "volume_context map 1, volume_capabilities *VolumeCapability 2, parameters map 3",
    "ValidateVolumeCapabilitiesResponse": "confirmed Confirmed 1, message string 2",
    "ListVolumesRequest": "max_entries int32 1, starting_token string 2",
    "ListedVolume": "volume Volume 1",
    "ListVolumesResponse": "entries *ListedVolume 1, next_token string 2",
    "GetCapacityRequest": "volume_capabilities *VolumeCapability 1, parameters map 2",
    "GetCapacityResponse": "available_capacity int64 1",
    "RpcCapability": "rpc TypeOf 1",
    "ControllerGetCapabilitiesRequest": "",
    "ControllerGetCapabilitiesResponse": "capabilities *RpcCapability 1",
    "ControllerExpandVolumeRequest": "volume_id string 1, capacity_range CapacityRange 2, volume_capability VolumeCapability 4",
    "ControllerExpandVolumeResponse": "capacity_bytes int64 1, node_expansion_required bool 2",
    # Node
    "NodeStageVolumeRequest": "volume_id string 1, publish_context map 2, staging_target_path string 3, "
    "volume_capability VolumeCapability 4",
    "NodeStageVolumeResponse": "",
    "NodeUnstageVolumeRequest": "volume_id string 1, staging_target_path string 2",
    "NodeUnstageVolumeResponse": "",
    "NodePublishVolumeRequest": "volume_id string 1, staging_target_path string 3, target_path string 4, "
    "volume_capability VolumeCapability 5, readonly bool 6",
    "NodePublishVolumeResponse": "",
    "NodeUnpublishVolumeRequest": "volume_id string 1, target_path string 2",
    "NodeUnpublishVolumeResponse": "",
    "NodeGetVolumeStatsRequest": "volume_id string 1, volume_path string 2",
    "VolumeUsage": "available int64 1, total int64 2, used int64 3, unit int32 4",
    "NodeGetVolumeStatsResponse": "usage *VolumeUsage 1",
    "NodeGetCapabilitiesRequest": "",
    "NodeGetCapabilitiesResponse": "capabilities *RpcCapability 1",
    "NodeGetInfoRequest": "",
    "NodeGetInfoResponse": "node_id string 1",
}

CONTROLLER_SERVICE = 1
ONLINE = 1
BYTES, INODES = 1, 2
SINGLE_NODE_WRITER, SINGLE_NODE_READER_ONLY, MULTI_NODE_READER_ONLY = 1, 2, 3
MULTI_NODE_SINGLE_WRITER, MULTI_NODE_MULTI_WRITER = 4, 5
MODES = (1, 2, 3, 4, 5)
SINGLE_NODE = (SINGLE_NODE_WRITER, SINGLE_NODE_READER_ONLY)
READERS_ONLY = (SINGLE_NODE_READER_ONLY, MULTI_NODE_READER_ONLY)
CREATE_DELETE, PUBLISH_UNPUBLISH, LIST, CAPACITY, PUBLISH_READONLY, EXPAND = 1, 2, 3, 4, 8, 9
STAGE_UNSTAGE, VOLUME_STATS = 1, 2

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
}


def _classes() -> Mapping[str, Any]:
    """Message -> its class."""
    file = descriptor_pb2.FileDescriptorProto(
        name="wavetank/csi.proto", package=PACKAGE, syntax="proto3"
    )
    for name, fields in FIELDS.items():
        message = file.message_type.add(name=name)
        for field in filter(None, fields.split(", ")):
            _add(message, *field.split(" "))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return MappingProxyType(
        {
            name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
            for name in FIELDS
        }
    )


def _add(message: Message, name: str, kind: str, number: str) -> None:
    one = kind.removeprefix("*")
    field = message.field.add(name=name, number=int(number))
    field.label = _Field.LABEL_OPTIONAL if one == kind else _Field.LABEL_REPEATED
    if one in _SCALARS:
        field.type = _SCALARS[one]
        return
    field.type = _Field.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{one}"
    if one == "map":
        entry = message.nested_type.add(
            name="".join(word.title() for word in name.split("_")) + "Entry"
        )
        entry.options.map_entry = True
        _add(entry, "key", "string", "1")
        _add(entry, "value", "string", "2")
        field.label = _Field.LABEL_REPEATED
        field.type_name = f".{PACKAGE}.{message.name}.{entry.name}"


MESSAGES = _classes()


def made(name: str, /, **fields: object) -> Message:
    """A message with these fields; those that are left out are zero, empty or absent."""
    return MESSAGES[name](**fields)
