"""Which of the names that are known a wrong one was meant to be: for refusals."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

_NEAR = 0.6  # of difflib's ratio: a letter of four may be another one


def nearest(name: str, known: Iterable[str], most: int = 3, near: float = _NEAR) -> list[str]:
    """Known names that are near to a name, the nearest first, then by the alphabet; upper and lower case are the same.

    Args:
        name: that is not known.
        known: all names.
        most: that are returned.
        near: from 0, all names, to 1, the name itself.
    """
    folded: dict[str, list[str]] = {}
    for each in dict.fromkeys(known):
        folded.setdefault(each.casefold(), []).append(each)
    matcher = SequenceMatcher(b=name.casefold())
    rated: list[tuple[float, str]] = []
    for form in folded:
        matcher.set_seq1(form)
        if matcher.real_quick_ratio() < near:
            continue
        letters = matcher.quick_ratio()  # in any order: two that are swapped count less
        if letters >= near and (ratio := matcher.ratio()) >= near:
            rated.append((-ratio - letters, form))
    return [each for _, form in sorted(rated) for each in folded[form]][:most]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question with the known names near to a name, and a space before it; empty where none is near.

    As in "no command 'modle'. Did you mean 'model'?".
    """
    near = map(repr, nearest(name, known))
    words = " or ".join(near)
    return f" Did you mean {words}?" if words else ""
