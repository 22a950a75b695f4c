"""What recurs in a chunk of operations: after how many a pattern begins again."""

from __future__ import annotations

import numpy as np


def find_period(window: np.ndarray, most: int, recurring: int) -> int:
    """After how many entries the window repeats its beginning; 0 if it does not, or only after more than ``most``.

    The beginning is ``recurring`` entries, or half of the window.
    """
    n = len(window)
    text = window.tobytes()
    head = text[: 8 * min(recurring, n // 2)]
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
