"""The C passes over orders do what plain Python does, for numbers of every width."""

from __future__ import annotations

import random
from itertools import groupby

import numpy as np
import pytest

from wavetank.model.native.orders import (
    find,
    first_come,
    join_steps,
    lay_symbols,
    narrow,
    tally,
    translated,
)

WIDTHS = (np.uint8, np.uint16, np.uint32, np.int64)


def turns(generator: random.Random, n: int, n_numbers: int, longest: int) -> list[int]:
    """Numbers in no order, each some times in a row."""
    found: list[int] = []
    while len(found) < n:
        found += [generator.randrange(n_numbers)] * generator.randint(1, longest)
    return found[:n]


@pytest.mark.parametrize("seed", range(8))
def test_steps_are_neighbours_of_one_symbol_joined(seed: int) -> None:
    generator = random.Random(seed)
    n_numbers = generator.choice([1, 2, 16, 250])
    longest = generator.choice([1, 3, 40, 400])  # 32 of a kind and more are numbered in another way
    plain = turns(generator, generator.choice([0, 1, 5, 3000]), n_numbers, longest)
    # Symbols are shared by some numbers; 0 is left out.
    least = generator.choice([0, 1])
    symbol_of = [generator.randint(least, n_numbers) for _ in range(n_numbers)]
    base = generator.choice([0, 3, 200, 300])
    width = np.uint8 if seed % 2 else np.uint32
    found, symbols, times = join_steps(
        np.array(plain, dtype=width), np.array(symbol_of, dtype=np.uint32), base
    )
    kept = [symbol_of[number] for number in plain if symbol_of[number]]
    expected = [(symbol, len(list(same))) for symbol, same in groupby(kept)]
    numbers: dict[tuple[int, int], int] = {}
    for step in expected:
        numbers.setdefault(step, base + len(numbers))
    assert found.tolist() == [numbers[step] for step in expected]
    assert list(zip(symbols.tolist(), times.tolist(), strict=True)) == list(numbers)


def test_steps_of_more_different_kinds_than_a_byte_has_are_numbered() -> None:
    # 70,000 different steps: more than 2 bytes number.
    order = np.arange(70_000, dtype=np.uint32)
    found, symbols, times = join_steps(order, np.arange(1, 70_001, dtype=np.uint32))
    assert np.array_equal(found, order)
    assert np.array_equal(symbols, order + 1)
    assert (times == 1).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 1, 7, 5000])
def test_numbers_are_counted_found_and_translated(width: type[np.generic], n: int) -> None:
    generator = random.Random(n)
    plain = turns(generator, n, 200, 5)
    numbers = np.array(plain, dtype=width)
    counts = tally(numbers, 210)
    assert counts.tolist() == [plain.count(number) for number in range(210)]
    assert first_come(numbers, counts).tolist() == list(dict.fromkeys(plain))
    to = [generator.randrange(1 << 16) for _ in range(210)]
    for wide in (np.uint16, np.uint32):
        got = translated(numbers, np.array(to), wide)
        assert got.dtype == wide
        assert got.tolist() == [to[number] for number in plain]


@pytest.mark.parametrize(
    ("most", "bytes_each"), [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)]
)
def test_numbers_have_the_narrowest_type_that_holds_them(most: int, bytes_each: int) -> None:
    assert np.dtype(narrow(most)).itemsize == bytes_each


@pytest.mark.parametrize("seed", range(4))
def test_substreams_of_several_symbols_have_them_one_after_another(seed: int) -> None:
    generator = random.Random(seed)
    n_substreams = generator.choice([1, 3, 200])
    plain = turns(generator, generator.choice([40, 3000]), n_substreams, 4)
    most = generator.choice([5, 300])
    of_substream = []
    for substream in range(n_substreams):
        left, lengths = plain.count(substream), []
        while left:
            lengths.append(generator.randint(1, left))
            left -= lengths[-1]
        lengths = lengths or [0]
        symbols = [generator.randint(1, most) for _ in lengths]
        of_substream.append((np.array(symbols), np.array(lengths)))
    found = lay_symbols(np.array(plain, dtype=np.uint8), of_substream, most)
    own = [iter(np.repeat(symbols, lengths).tolist()) for symbols, lengths in of_substream]
    assert found.tolist() == [next(own[substream]) for substream in plain]


def test_symbols_that_do_not_fit_their_substreams_are_refused() -> None:
    with pytest.raises(ValueError, match="more or fewer"):
        lay_symbols(np.zeros(3, dtype=np.uint8), [(np.array([1]), np.array([2]))], 1)


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_are_found_where_they_come_again(width: type[np.generic]) -> None:
    generator = random.Random(7)
    # Few different ones, so that there are many beginnings of what is looked for.
    plain = [generator.choice((1, 2, 3)) for _ in range(3000)]
    numbers = np.array(plain, dtype=width)
    for _ in range(300):
        n = generator.randint(1, 12)
        at = generator.randrange(len(plain) - n)
        low = generator.randrange(len(plain))
        high = generator.randrange(low, len(plain) + 1)
        head = plain[at : at + n]
        places = [i for i in range(low, high - n + 1) if plain[i : i + n] == head]
        assert find(numbers, at, n, low, high) == (places[0] if places else -1)
    with pytest.raises(IndexError, match="outside"):
        find(numbers, 2990, 20, 0, 3000)


def test_numbers_are_not_found_between_two_others() -> None:
    # 0x0101, 0x0100 as bytes: 01 01 00 01; 0x0001 lies across the two.
    numbers = np.array([0x0001, 0x0101, 0x0100, 0x0001], dtype="<u2")
    assert find(numbers, 0, 1, 1, 4) == 3
