"""Where GlusterFS puts a name: the hash of its distribute translator, and the hash ranges of a directory.

Needed to see before writing on which server each shard of a file would lie. The hash is a Davies-Meyer
construction over the TEA cipher, on little-endian words of 32 bits (gf_dm_hashfn of GlusterFS 3 to 11).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

_DELTA = 0x9E3779B9  # of TEA
_MASK = 0xFFFFFFFF
_PART_ROUNDS = 6
_FULL_ROUNDS = 10
_START = (0x9464A485, 0x542E1A94)


def name_hash(name: str) -> int:
    """The 32-bit hash of a name in its directory."""
    message = name.encode()
    h0, h1 = _START
    whole = len(message) - len(message) % 16
    for at in range(0, whole, 16):
        h0, h1 = _mix(_PART_ROUNDS, struct.unpack_from("<4I", message, at), h0, h1)
    h0, h1 = _mix(_FULL_ROUNDS, _last_block(message[whole:], len(message)), h0, h1)
    return h0 ^ h1


def _last_block(rest: bytes, length: int) -> tuple[int, ...]:
    """The last words: what is left of the message, padded with its length in every byte."""
    words = [int.from_bytes(rest[at : at + 4], "little") for at in range(0, len(rest) // 4 * 4, 4)]
    pad = (length & 0xFF) * 0x01010101
    left = rest[len(words) * 4 :]
    while len(words) < 4:
        partial = pad
        for byte in left:
            partial = (partial << 8 | byte) & _MASK
        words.append(partial)
        left = b""
    return tuple(words)


def _mix(rounds: int, words: tuple[int, ...], h0: int, h1: int) -> tuple[int, int]:
    a, b, c, d = words
    n0, n1, total = h0, h1, 0
    for _ in range(rounds):
        total = (total + _DELTA) & _MASK
        n0 = (n0 + (((n1 << 4) + a) ^ (n1 + total) ^ ((n1 >> 5) + b))) & _MASK
        n1 = (n1 + (((n0 << 4) + c) ^ (n0 + total) ^ ((n0 >> 5) + d))) & _MASK
    return (h0 + n0) & _MASK, (h1 + n1) & _MASK


def hash_range(xattr: str) -> tuple[int, int]:
    """First and last hash that a brick holds of a directory, from its ``trusted.glusterfs.dht``.

    Sample (10.3): ``0x000000010000000055555555aaaaaaa9``: two words of bookkeeping, first, last.

    Raises:
        ValueError: not such an attribute.
    """
    digits = xattr.strip().removeprefix("0x")
    if len(digits) != 32:
        raise ValueError(f"{xattr!r} is no hash range of glusterfs")
    return int(digits[16:24], 16), int(digits[24:], 16)


def shard_bytes(
    gfid: str,
    size_bytes: int,
    shard_size_bytes: int,
    base_server: str,
    ranges: Mapping[str, tuple[int, int]],
) -> dict[str, int]:
    """Bytes of a sharded file on each server, if written now.

    Args:
        gfid: of the file; its shards after the first are named ``gfid.1``, ``gfid.2``, ... in /.shard.
        size_bytes: of the file.
        shard_size_bytes: of a shard.
        base_server: holds the first shard, which is the file itself.
        ranges: server -> its range of hashes in /.shard.
    """
    held = dict.fromkeys(ranges, 0)
    held[base_server] += min(size_bytes, shard_size_bytes)
    for number in range(1, -(-size_bytes // shard_size_bytes)):
        value = name_hash(f"{gfid}.{number}")
        server = next(name for name, (first, last) in ranges.items() if first <= value <= last)
        held[server] += min(shard_size_bytes, size_bytes - number * shard_size_bytes)
    return held
