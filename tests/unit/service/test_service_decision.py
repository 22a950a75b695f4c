"""The next step for a space, of what is wanted and what is there."""

from __future__ import annotations

import pytest
from service_fakes import GIB, NOON, ip, request, server, tenant

from wavetank.service.core import changes
from wavetank.service.core.orders import Found, Order
from wavetank.service.core.records import Held, Usage
from wavetank.service.reconcile.decision import next_step

RULE = ip("10.0.0.1")


def order(state, *, made=0):
    servers = [Held(server=server("io0", 10 * GIB), free={"/dev/d0": 10 * GIB})]
    asked = request(access=[RULE])
    space, shares = changes.create("sp-1", tenant(), asked, Usage(), servers, NOON)
    return Order(space.model_copy(update={"state": state, "made_generation": made}), shares)


def found(*, whole=True, size=GIB, access=frozenset({RULE})):
    return Found("sp-1", whole, {("io0", "/dev/d0"): size}, access, "io0:/sp-1")


@pytest.mark.parametrize(
    ("state", "made", "there", "step"),
    [
        ("requested", 0, None, "begin"),
        ("making", 0, None, "make"),
        ("making", 0, found(whole=False), "remove"),
        ("making", 0, found(), "finish"),
        ("making", 0, found(access=frozenset()), "change_access"),
        ("ready", 1, found(), "rest"),
        ("ready", 1, None, "fail"),
        ("ready", 1, found(size=2), "resize"),
        ("ready", 1, found(access=frozenset({RULE, ip("10.0.0.2")})), "change_access"),
        ("growing", 1, found(size=2), "resize"),
        ("growing", 1, found(whole=False), "resize"),
        ("growing", 1, found(whole=False, access=frozenset()), "change_access"),
        ("growing", 1, found(size=2, access=frozenset()), "change_access"),
        ("growing", 1, None, "fail"),
        ("changing", 1, found(access=frozenset({ip("10.0.0.1", "ro")})), "change_access"),
        ("changing", 1, found(), "finish"),
        ("deleting", 1, found(), "remove"),
        ("deleting", 0, found(whole=False), "remove"),
        ("deleting", 1, None, "finish"),
        ("gone", 1, found(whole=False), "remove"),
        ("gone", 1, None, "rest"),
        ("failed", 1, None, "rest"),
        ("failed", 1, found(size=2), "rest"),
    ],
)
def test_the_next_step(state, made, there, step):
    assert next_step(order(state, made=made), there).do == step


def test_a_space_whose_data_is_gone_is_never_made_anew():
    step = next_step(order("ready", made=1), None)
    assert step.do == "fail"
    assert "its data with it" in step.why
