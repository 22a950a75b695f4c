"""A host that is none: it keeps what it is told, and answers what a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from wavetank.cluster.host import Finished, Host
from wavetank.errors import RemoteCommandError

Answer = Callable[["FakeHost", list[str]], "str | None"]


class FakeHost(Host):
    """A host on which every command ends well.

    Args:
        name: of the host.
        address: in its cluster's network.
        answer: what a command prints, None where it fails.

    Attributes:
        ran: each command that ended, or failed.
        started: each command that goes on.
        written: what commands got on their standard input, by the file that dd writes it to, else by their last word.
        files: what was copied to it, by path.
    """

    def __init__(
        self, name: str = "c1", address: str = "10.77.0.1", answer: Answer = lambda host, argv: ""
    ) -> None:
        self.name, self.address, self.answer = name, address, answer
        self.ran: list[list[str]] = []
        self.started: list[list[str]] = []
        self.written: dict[str, str] = {}
        self.files: dict[str, bytes] = {}

    def run(
        self, argv: Sequence[str], *, timeout_s: float = 60.0, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Finished:  # fmt: skip
        self.ran.append(list(argv))
        if stdin:
            at = next((word for word in argv if word.startswith("of=")), argv[-1])
            self.written[at.removeprefix("of=")] = stdin
        said = self.answer(self, list(argv))
        if said is None:
            raise RemoteCommandError(self.name, argv, 1, "")
        return Finished(said, "", 0.0)

    def start(self, argv: Sequence[str], **_: object) -> None:
        self.started.append(list(argv))

    def put(self, source: Path, destination: str) -> None:
        self.files[destination] = source.read_bytes()
