"""The errors that wavetank raises.

Every message says what failed, where, and what to do about it. Only the command line turns one
into text and an exit status; everything else raises, with its cause attached.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence


class WavetankError(Exception):
    """Base of all errors that a user can meet. ``exit_status`` is the process's exit status."""

    exit_status = 1


class UsageError(WavetankError):
    """The command was called in a way that cannot work."""

    exit_status = 2


class DocumentError(WavetankError):
    """A file of a stage is missing, damaged, or of another kind or version."""


class NativeError(WavetankError):
    """A C part of wavetank is missing, and cannot be built."""


class TraceError(WavetankError):
    """An application could not be traced, or a trace could not be read."""


class ModelError(WavetankError):
    """A model could not be extracted, or a model file is wrong."""


class KernelError(WavetankError):
    """A kernel could not be made, or could not be performed."""


class SpecError(WavetankError):
    """A specification (cluster, campaign, price table) is wrong."""


class ClusterError(WavetankError):
    """A virtual cluster could not be brought up, used or taken down."""


class ProviderError(ClusterError):
    """A provider could not make or remove nodes."""


class FileSystemError(ClusterError):
    """A file system could not be deployed, mounted or removed."""


class RemoteCommandError(ClusterError):
    """A command failed on a node.

    Attributes:
        node: name of the node.
        argv: the command as it was run.
        status: exit status; negative for a signal, None for a time-out.
        stderr_tail: the last lines that it wrote to standard error.
    """

    def __init__(self, node: str, argv: Sequence[str], status: int | None, stderr: str) -> None:
        self.node = node
        self.argv = tuple(argv)
        self.status = status
        self.stderr_tail = "\n".join(stderr.strip().splitlines()[-8:])
        what = "timed out" if status is None else f"ended with status {status}"
        super().__init__(
            f"on {node}: {shlex.join(self.argv)} {what}: {self.stderr_tail or 'no output'}"
        )


class MeasurementError(WavetankError):
    """A measurement could not be made."""


class CostError(WavetankError):
    """A cost could not be computed."""


class ReportError(WavetankError):
    """A report could not be written."""


class ServiceError(WavetankError):
    """The service of spaces could not do what it was asked for."""
