"""What operation codes are to the extraction: arrays of 256."""

from __future__ import annotations

import numpy as np

from wavetank.model.events.file_identity import NAME_CHANGES
from wavetank.trace.ops import DATA_KINDS, OPS, codes_where
from wavetank.trace.schema import OpKind

LEVEL = np.zeros(256, dtype=np.uint8)
LEVEL[list(OPS)] = [op.level for op in OPS.values()]
MOVES_DATA = codes_where(lambda op: op.kind in DATA_KINDS)
OPENS = codes_where(lambda op: op.kind == OpKind.OPEN)
SEEKS = codes_where(lambda op: op.kind == OpKind.SEEK)
SYNCS = codes_where(lambda op: op.kind == OpKind.SYNC_RANKS)
_EXPLICIT_OFFSET = ("pread", "pwrite", "aio_", "_at")
MOVES_POINTER = codes_where(
    lambda op: (
        op.kind in (OpKind.OPEN, OpKind.SEEK, OpKind.VIEW)
        or (op.kind in DATA_KINDS and not any(part in op.name for part in _EXPLICIT_OFFSET))
    )
)
CHANGES_NAMES = codes_where(lambda op: op.name in NAME_CHANGES)
