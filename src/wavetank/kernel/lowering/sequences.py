"""Long sequences of words kept folded, and compared without being unfolded.

A sequence of n words w has the number sum(w[i] * BASE**(n-1-i)) modulo a prime; joining and repeating are
arithmetic on these numbers (Karp and Rabin 1987), so equal sequences are found equal however each is folded.
Different ones have equal numbers with a probability of n / PRIME.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

PRIME = (1 << 127) - 1
BASE = 0x9E3779B97F4A7C15F39CC0605CEDC835 % PRIME  # 2**128 / golden ratio


@dataclass(frozen=True)
class Folded:
    """A word, parts one after another, or one part repeated.

    Attributes:
        length: words.
        number: of the whole sequence.
        word: from 1; 0 unless this is one word.
        parts: one after another; a single one where it is repeated.
        times: repetitions of the parts.
    """

    length: int
    number: int
    word: int = 0
    parts: tuple[Folded, ...] = ()
    times: int = 1


NOTHING = Folded(0, 0)


def one(word: int) -> Folded:
    """A sequence of one word."""
    return Folded(1, word, word)


def joined(parts: Iterable[Folded]) -> Folded:
    """Sequences one after another."""
    kept = tuple(part for part in parts if part.length)
    if len(kept) == 1:
        return kept[0]
    length = number = 0
    for part in kept:
        number = (number * pow(BASE, part.length, PRIME) + part.number) % PRIME
        length += part.length
    return Folded(length, number, parts=kept)


def repeated(part: Folded, times: int) -> Folded:
    """A sequence again and again."""
    if times == 1:
        return part
    if times == 0 or part.length == 0:
        return NOTHING
    length = part.length * times
    return Folded(length, _number(part, times), parts=(part,), times=times)


def _number(part: Folded, times: int) -> int:
    """Of a part repeated: a geometric series."""
    step = pow(BASE, part.length, PRIME)
    if step == 1:
        return part.number * times % PRIME
    return part.number * (pow(step, times, PRIME) - 1) * pow(step - 1, -1, PRIME) % PRIME


def beginning(sequence: Folded, n: int) -> int:
    """The number of the first ``n`` words."""
    if n >= sequence.length:
        return sequence.number
    if n <= 0:
        return 0
    if sequence.times > 1:
        part = sequence.parts[0]
        whole, rest = divmod(n, part.length)
        ahead = _number(part, whole) if whole else 0
        return (ahead * pow(BASE, rest, PRIME) + beginning(part, rest)) % PRIME
    number = 0
    for part in sequence.parts:
        taken = min(n, part.length)
        number = (number * pow(BASE, taken, PRIME) + beginning(part, taken)) % PRIME
        n -= taken
        if n == 0:
            break
    return number


def word_at(sequence: Folded, index: int) -> int | None:
    """The word at a place, from 0; None behind the end."""
    if not 0 <= index < sequence.length:
        return None
    while not sequence.word:
        index %= sequence.length // sequence.times
        for part in sequence.parts:
            if index < part.length:
                sequence = part
                break
            index -= part.length
    return sequence.word


def first_difference(one: Folded, other: Folded) -> int | None:
    """The first place, from 0, where two sequences differ or one of them ends; None when they are equal."""
    if one.length == other.length and one.number == other.number:
        return None
    equal, differs = 0, min(one.length, other.length) + 1
    while differs - equal > 1:  # the first `equal` words are equal
        middle = (equal + differs) // 2
        if middle <= min(one.length, other.length) and beginning(one, middle) == beginning(
            other, middle
        ):
            equal = middle
        else:
            differs = middle
    return equal
