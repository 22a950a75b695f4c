"""Hosts that note what is done on them, in place of instances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wavetank.cluster.host import Finished
from wavetank.errors import RemoteCommandError


class Recorder:
    """A host on which every command ends well; Ganesha answers once it was started."""

    def __init__(self, name: str, address: str) -> None:
        self.name, self.address = name, address
        self.commands: list[list[str]] = []
        self.home = "/storage/wavetank/home"
        self.files: dict[str, bytes] = {}

    def run(self, argv: Sequence[str], **_: object) -> Finished:
        self.commands.append(list(argv))
        if "100003" in argv and not self.ran("ganesha.nfsd"):
            raise RemoteCommandError(self.name, argv, 1, "not registered")
        return Finished("", "", 0.0)

    def script(self, text: str, *words: str, **_: object) -> str:
        return self.run(["sh", "-c", text, "sh", *words]).stdout

    def start(self, argv: Sequence[str], **_: object) -> None:
        self.commands.append(list(argv))

    def put(self, source: Path, destination: str) -> None:
        self.files[destination] = source.read_bytes()

    def ran(self, program: str) -> list[list[str]]:
        return [argv for argv in self.commands if argv[0] == program]
