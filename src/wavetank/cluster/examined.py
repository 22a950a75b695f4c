"""What who makes nodes says of a cluster before anything is made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Examined:
    """Sentences of one look at a specification.

    Attributes:
        findings: what keeps the cluster from coming up; empty when it can.
        unknown: what is not known of a cluster that can come up as far as is known. It keeps none from coming up.
    """

    findings: list[str]
    unknown: list[str]
