"""What an account does not tell before a cluster is made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unknown:
    """A sentence on what is not known. It keeps no cluster from coming up."""

    words: str
