"""Which operation codes satisfy a condition."""

from __future__ import annotations

import numpy as np

from wavetank.trace.ops import OPS, OPS_BY_NAME, codes_where
from wavetank.trace.schema import Op, OpKind

ASKED: list[int] = []


def _reads(op: Op) -> bool:
    ASKED.append(op.code)
    return op.kind == OpKind.READ


def test_a_condition_is_asked_once_about_each_operation() -> None:
    ASKED.clear()
    found = [codes_where(_reads) for _ in range(3)]
    assert sorted(ASKED) == sorted(OPS)
    for one in found:
        assert set(np.flatnonzero(one).tolist()) == {
            op.code for op in OPS.values() if op.kind == OpKind.READ
        }
        assert not one.flags.writeable


def test_other_operations_are_asked_about_anew() -> None:
    only = {3: OPS_BY_NAME["read"], 200: OPS_BY_NAME["write"]}
    assert codes_where(_reads).sum() > 1
    assert np.flatnonzero(codes_where(_reads, only)).tolist() == [3]


def test_a_condition_with_an_environment_is_asked_in_each() -> None:
    for name in ("read", "write"):
        codes = codes_where(lambda op: op.name == name)  # noqa: B023
        assert np.flatnonzero(codes).tolist() == [OPS_BY_NAME[name].code]
    for kind in (OpKind.OPEN, OpKind.CLOSE):
        codes = codes_where(lambda op, kind=kind: op.kind == kind)  # type: ignore[misc]
        assert codes[OPS_BY_NAME["open"].code] == (kind == OpKind.OPEN)
