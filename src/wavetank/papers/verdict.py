"""What was found of a statement: it holds, it does not, or it cannot be told; with the numbers and the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wavetank.papers.study import Statement

MOST_REASONS = 2
"""Reasons that a reader is told in full; of more, how many there are."""
Word = Literal["holds", "does not hold", "cannot be told"]


@dataclass(frozen=True)
class Finding:
    """What one comparison says of a claim.

    Attributes:
        says: True: as published; False: the opposite; None: it does not tell.
        why: in words; of those that are not as published.
        weight: the finding of the greatest weight is the one that a reader is told.
    """

    says: bool | None
    why: str | None = None
    weight: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """A statement, judged.

    Attributes:
        statement: of the paper.
        word: the verdict.
        reproduced: the numbers found here; empty where there are none.
        why: the reason where it does not hold or cannot be told.
    """

    statement: Statement
    word: Word
    reproduced: str
    why: str | None


def verdict_of(statement: Statement, findings: Sequence[Finding], reproduced: str) -> Verdict:
    """Put findings together: one that says the opposite refutes, and all must agree to confirm."""
    against = [each for each in findings if each.says is False]
    open_ = [each for each in findings if each.says is None]
    n = len(findings)
    if against:
        worst = max(against, key=lambda each: each.weight)
        share = f" ({len(against)} of {n} comparisons say the opposite)" if n > 1 else ""
        return Verdict(statement, "does not hold", reproduced, f"{worst.why}{share}")
    if open_ or not findings:
        reasons = list(dict.fromkeys(each.why for each in open_ if each.why))
        agree = n - len(open_)
        if len(reasons) > MOST_REASONS:
            more = len(reasons) - MOST_REASONS
            reasons = [*reasons[:MOST_REASONS], f"{more} more of this kind"]
        if agree:
            reasons.append(f"{agree} of {n} comparisons are as published")
        return Verdict(
            statement,
            "cannot be told",
            reproduced,
            "; ".join(reasons) or "the study compares nothing that the statement is about",
        )
    return Verdict(statement, "holds", reproduced, None)
