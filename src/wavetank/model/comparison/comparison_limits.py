"""How much of two models is compared one by one. What is beyond is compared by phases, and a note says so.

A file of its own: the comparison of phases and that of operations both go by them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ComparisonLimits:
    """Choices, by the memory that they take.

    Attributes:
        operations: of one rank on one file that are compared one by one: 200 bytes each.
        runs: of equal steps that a program is laid out into: 16 bytes each.
    """

    operations: int = 5_000_000
    runs: int = 10_000_000
