"""Tables of ``wavetank cluster plan``: nodes, limits, settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wavetank.tables.table import Table, Value, plain_table

if TYPE_CHECKING:
    from wavetank.cluster.spec import ClusterSpec

NODE_COLUMNS = [
    "node", "role", "instance", "vcpus", "memory_bytes", "network_bytes_per_s", "device",
    "disk_read_bytes_per_s", "disk_write_bytes_per_s", "disk_read_iops", "disk_write_iops", "storage_bytes",
    "scratch_bytes",
]  # fmt: skip


def nodes_table(spec: ClusterSpec) -> Table:
    """What every node is and has, with rates as they will be, scaled."""
    rows = [_row(spec, node) for node in spec.node_names()]
    note = None if spec.scale == 1 else f"Rates are the instance's divided by scale {spec.scale:g}."
    return plain_table("Nodes", NODE_COLUMNS, rows, [_shown(row) for row in rows], note)


def notes_table(spec: ClusterSpec) -> Table:
    """Where limits come from, and which of them this machine cannot hold."""
    from wavetank.cluster.notes import notes

    rows: list[list[Value]] = [[note] for note in notes(spec)]
    return plain_table(
        "Limits", ["note"], rows, note=None if rows else "All limits are as written."
    )


def role_of(spec: ClusterSpec, node: str) -> str:
    """What runs on a node."""
    roles = {
        "compute": spec.compute_names(),
        "data server": spec.server_names(),
        "metadata server": spec.metadata_names(),
        "gateway": spec.gateway_names(),
    }
    return ", ".join(role for role, names in roles.items() if node in names) or "idle"


def _row(spec: ClusterSpec, node: str) -> list[Value]:
    instance = spec.instance_of(node)
    held = node in spec.storage_names()
    rates = spec.disk_rates(node, spec.storage) if held else {}
    network = instance.network
    has_scratch = spec.temporary is not None and node in spec.compute_names()
    scaled = [
        None if rate is None else round(rate / spec.scale)
        for rate in (
            network,
            *(
                rates[key] * spec.storage.devices if key in rates else None
                for key in ("read", "write", "read_iops", "write_iops")
            ),
        )
    ]
    return [
        node, role_of(spec, node), instance.name, instance.vcpus, instance.memory, scaled[0],
        spec.device_of(node, spec.storage) if held else None, *scaled[1:],
        spec.storage.node_bytes if held else None,
        spec.temporary.size if has_scratch and spec.temporary is not None else None,
    ]  # fmt: skip


def _shown(row: list[Value]) -> list[str]:
    from wavetank.units import format_rate, format_size

    has_disk = row[NODE_COLUMNS.index("device")] is not None

    def shown(column: str, value: Value) -> str:
        if value is None:
            is_limit = column.endswith(("_per_s", "_iops")) and (
                has_disk or column.startswith("network")
            )
            return "no limit" if is_limit else "-"
        if not isinstance(value, int | float):
            return str(value)
        if column.endswith("_bytes_per_s"):
            return format_rate(value)
        return format_size(value) if column.endswith("_bytes") else f"{value:g}"

    return [shown(column, value) for column, value in zip(NODE_COLUMNS, row, strict=True)]


def settings_table(spec: ClusterSpec) -> Table:
    """Every setting, defaults too."""
    from wavetank.units import format_size

    fs = spec.file_system
    stripe: str = fs.stripe.kind
    stripe += f", blocks of {format_size(fs.stripe.size)}" if fs.stripe.size else ""
    stripe += f", over {fs.stripe.count} servers" if fs.stripe.count else ""
    stripe += f", {fs.stripe.redundancy} of redundancy" if fs.stripe.redundancy else ""
    temporary = spec.temporary
    settings = {
        "provider": spec.provider,
        "file system": fs.kind,
        "data servers": ", ".join(spec.server_names()) or "none",
        **({"metadata servers": ", ".join(spec.metadata_names())} if spec.metadata_names() else {}),
        **({"gateways": f"{', '.join(spec.gateway_names())}, in front of {fs.behind}"} if fs.behind else {}),
        "access method": access_method(spec),
        "mount": fs.path or ("/storage" if fs.kind == "none" else fs.mount),
        **({"prefix": fs.prefix} if fs.prefix else {}),
        "stripe": stripe,
        "layout of input files": spec.layout,
        "local file system": spec.storage.local_file_system,
        "temporary storage": "none" if temporary is None
        else f"{format_size(temporary.size)} of {temporary.local_file_system} at /scratch of compute nodes",
        **({"devices of a node": f"{spec.storage.devices}, as {spec.storage.devices_as}"} if spec.storage.devices > 1 else {}),
        "scale": f"{spec.scale:g}",
        "process mapping": spec.mapping,
        "MPI-IO library": spec.mpi.io_library or ("romio, for its hints" if spec.mpi.hints else "the MPI's own"),
        **{f"MPI-IO hint {name}": str(value) for name, value in spec.mpi.hints.items()},
        **{f"option {name}": str(value) for name, value in fs.options.items()},
        **{f"mount option {name}": str(value) for name, value in fs.mount_options.items()},
        **(_ssh_settings(spec)),
        **(_cloud_settings(spec)),
    }  # fmt: skip
    return plain_table("Settings", ["setting", "value"], [list(item) for item in settings.items()])


def access_method(spec: ClusterSpec) -> str:
    """How ranks reach the file system, in the words of the method, section 8."""
    from wavetank.cluster.access import WORDS, method_of
    from wavetank.cluster.components import MAKES_NODES

    if spec.file_system.kind == "none":
        return "local disks"
    if spec.provider not in MAKES_NODES:
        return "native: instances as they are" if spec.cloud else "native: hosts as they are"
    method = method_of(spec.access, spec.provider)
    if spec.provider == "local":
        return f"{method}: clients and servers on nodes with limits"
    return WORDS[method]


def processes_table(spec: ClusterSpec) -> Table:
    """Which processes run where: a row for each kernel of a node."""
    from wavetank.cluster.access import processes

    rows: list[list[Value]] = [
        [each.node, each.place, ", ".join(each.processes) or "nothing"] for each in processes(spec)
    ]
    return plain_table("Processes", ["node", "where", "processes"], rows)


def _ssh_settings(spec: ClusterSpec) -> dict[str, str]:
    ssh = spec.ssh
    if ssh is None:
        return {}
    return {
        **{f"host {name}": address for name, address in ssh.hosts.items()},
        "ssh user": f"{ssh.user}{' with sudo' if ssh.sudo else ''}, port {ssh.port}",
        "ssh directory": ssh.directory,
        "ssh network": ssh.network or "as the addresses say",
    }


def _cloud_settings(spec: ClusterSpec) -> dict[str, str]:
    if spec.cloud is None:
        return {}
    said = spec.cloud.model_dump(mode="json") | {"ttl": f"{spec.cloud.ttl / 3600:g} h"}
    return {f"cloud {key}": str(value) for key, value in said.items() if value is not None}
