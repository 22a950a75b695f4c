"""What recurs in a chunk of operations: after how many a pattern begins again."""

from __future__ import annotations

import numpy as np

HEAD = 32
"""Operations that must recur."""


def find_period(window: np.ndarray, most: int) -> int:
    """After how many entries the window repeats its beginning; 0 if it does not."""
    n = len(window)
    text = window.tobytes()
    head = text[: 8 * min(HEAD, n // 2)]
    at = text.find(head, 8)
    while at > 0:
        period, rest = divmod(at, 8)
        if not rest:
            if period > most:
                return 0
            if text[at:] == text[: len(text) - at]:
                return period
        at = text.find(head, at + 1)
    return 0
