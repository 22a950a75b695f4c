"""The words for a trace that does not hold all that its program did: the same in every stage."""

from __future__ import annotations

from collections.abc import Sequence


def partial_sentences(lost: Sequence[str]) -> tuple[str, ...]:
    """What is missing, as models, kernels and messages say it; ``lost`` is that of a trace or model."""
    return tuple(f"the trace is PARTIAL: {sentence}" for sentence in lost)
