"""How Lustre stripes a file: the extended attribute ``lustre.lov`` that the tracer read when it was opened.

Source: struct lov_user_md_v1, lov_user_md_v3 and lov_comp_md_v1 of Lustre's lustre_user.h (2.10 and later);
little endian, packed.
"""

from __future__ import annotations

import struct

from wavetank.trace.schema import Striping

MAGIC_V1 = 0x0BD10BD0
MAGIC_V3 = 0x0BD30BD0  # v1 and the name of an OST pool
MAGIC_SPECIFIC = 0x0BD50BD0  # v3, with OSTs that the user chose
MAGIC_COMPOSITE = 0x0BD60BD0  # components, each with an extent of the file and a layout of its own
_HEAD = struct.Struct(
    "<II16sIHH"
)  # magic, pattern, object id, stripe size, stripe count, generation
_POOL = struct.Struct("<16s")
_OBJECT = struct.Struct("<16sII")  # object id, generation, index of the OST
_COMPOSITE = struct.Struct(
    "<IIIHHHBB4sQ"
)  # magic, size, generation, flags, entries, mirrors - 1, ...
_ENTRY = struct.Struct("<IIQQIIIQ4s")  # id, flags, extent, offset and size of its layout, ...
_ALL_OSTS = 0xFFFF  # stripe count: over all there are
_NOT_YET = 0xFFFFFFFF  # index of an OST that is chosen when the component is first written
_TO_THE_END = 0xFFFFFFFFFFFFFFFF
_MOST_COMPONENTS = 1024


def parse_striping(attribute: bytes) -> tuple[Striping, ...]:
    """The layout of a file: one entry, or one for each component in the order of their extents.

    An attribute of an unknown kind, or one that is cut short, gives none: it says nothing about the run.
    """
    try:
        (magic,) = struct.unpack_from("<I", attribute)
        if magic != MAGIC_COMPOSITE:
            return (_layout(attribute, 0, None),)
        n_entries = _COMPOSITE.unpack_from(attribute)[4]
        found = []
        for i in range(min(n_entries, _MOST_COMPONENTS)):
            _, _, start, end, offset, size, *_ = _ENTRY.unpack_from(
                attribute, _COMPOSITE.size + i * _ENTRY.size
            )
            found.append(
                _layout(
                    attribute[offset : offset + size], start, None if end == _TO_THE_END else end
                )
            )
        return tuple(found)
    except (struct.error, ValueError):
        return ()


def _layout(content: bytes, start: int, end: int | None) -> Striping:
    magic, _, _, stripe_size, count, _ = _HEAD.unpack_from(content)
    if magic not in (MAGIC_V1, MAGIC_V3, MAGIC_SPECIFIC):
        raise ValueError
    at, pool = _HEAD.size, None
    if magic != MAGIC_V1:
        name: bytes = _POOL.unpack_from(content, at)[0]
        pool = name.split(b"\0")[0].decode(errors="backslashreplace") or None
        at += _POOL.size
    osts = [_OBJECT.unpack_from(content, i)[2] for i in range(at, len(content) - 23, _OBJECT.size)]
    return Striping(
        stripe_size=stripe_size,
        stripe_count=None if count == _ALL_OSTS else count,
        pool=pool,
        osts=tuple(ost for ost in osts[:count] if ost != _NOT_YET),
        extent_start=start,
        extent_end=end,
    )
