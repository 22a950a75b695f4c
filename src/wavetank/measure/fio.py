"""Running fio on a node and reading what it prints.

Reads the JSON of fio 3.33, of which this is a part:
``{"jobs": [{"error": 0, "write": {"io_bytes": 8387584, "bw_bytes": 599113142, "iops": 73142.8}}]}``
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from wavetank.cluster.host import Host
from wavetank.errors import MeasurementError, RemoteCommandError

TIMEOUT_S = 600.0


@dataclass(frozen=True)
class FioResult:
    """One direction of one fio job."""

    bytes: int
    bytes_per_s: float
    iops: float


def fio_version(host: Host) -> str:
    """Version of fio on a node.

    Raises:
        MeasurementError: it is not installed.
    """
    try:
        return host.run(["fio", "--version"]).stdout.strip()
    except RemoteCommandError as error:
        raise MeasurementError(
            f"fio does not run on {host.name}: {error.stderr_tail or 'not found'}. "
            "Install it (Debian: apt-get install fio)"
        ) from error


def run_fio(host: Host, options: Sequence[str], direction: str) -> FioResult:
    """Run one job.

    Args:
        host: where.
        options: without name and output format.
        direction: "read" or "write", the part of the output that counts.

    Raises:
        RemoteCommandError: fio failed.
        MeasurementError: its output is not as expected.
    """
    argv = ["fio", "--name=wavetank", *options, "--output-format=json"]
    return read_fio(host.run(argv, timeout_s=TIMEOUT_S).stdout, direction)


def read_fio(text: str, direction: str) -> FioResult:
    """One direction of the first job in fio's JSON.

    Raises:
        MeasurementError: it is not fio's JSON, or the job failed.
    """
    try:
        # Warnings come before the JSON object.
        job = json.loads(text[text.index("{") :])["jobs"][0]
        if job["error"] != 0:
            raise MeasurementError(f"fio ended with error {job['error']}")
        part = job[direction]
        return FioResult(int(part["io_bytes"]), float(part["bw_bytes"]), float(part["iops"]))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise MeasurementError(f"cannot read fio's output: {error!r} in {text[:200]!r}") from error
