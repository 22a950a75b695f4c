"""Records of the service: what fits, what is refused, and the tables of states and classes."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest
from pydantic import ValidationError
from service_fakes import GIB, ip, request, server

from wavetank.service.core import changes
from wavetank.service.core.classes import CLASSES, KINDS, class_of, notes, see_offered
from wavetank.service.core.records import Access, AccessList, Kind, Mode, SpaceRequest
from wavetank.service.core.refusals import Refused


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "a b"}, "name"),
        ({"name": "../a"}, "name"),
        ({"name": "n" * 129}, "name"),
        ({"size": "10 quarts"}, "is not a size"),
        ({"size": 1024}, "greater than or equal to 1048576"),
        ({"size": 2**60}, "less than or equal to"),
        ({"kind": "zfs"}, "'nfs', 'glusterfs'"),
        ({"mode": "mine"}, "'shared' or 'dedicated'"),
        ({"servers": 0}, "greater than or equal to 1"),
        ({"stripe_size": 65537}, "power of two"),
        ({"access": [{"kind": "ip", "subject": "10.0.0.1/8"}]}, "host bits set"),
        ({"access": [{"kind": "ip", "subject": "a"}]}, "no address and no network"),
        ({"access": [{"kind": "key", "subject": "a b"}]}, "no name of a key"),
        ({"acces": []}, "Extra inputs"),
        (
            {
                "access": [
                    {"kind": "ip", "subject": "10.0.0.1"},
                    {"kind": "ip", "subject": "10.0.0.1/32", "level": "ro"},
                ]
            },
            "10.0.0.1 stands twice",
        ),
    ],
)
def test_a_request_that_cannot_be_is_refused_with_the_place(values, said):
    with pytest.raises(ValidationError, match=said):
        SpaceRequest(**{"name": "data", "size": GIB, "kind": "nfs", **values})


def test_addresses_have_one_way_to_be_written():
    assert ip("10.0.0.7/32") == ip("10.0.0.7")
    assert ip("fd00:0:0::1").subject == "fd00::1"
    assert ip("10.1.0.0/16").subject == "10.1.0.0/16"
    with pytest.raises(ValidationError, match="stands twice"):
        AccessList(access=(ip("10.0.0.7/32"), ip("10.0.0.7", "ro")))


def test_a_server_names_each_device_once():
    twice = [{"name": "/a", "size": 1}, {"name": "/a", "size": 2}]
    with pytest.raises(ValidationError, match="each name may stand once"):
        server("io1", 1).model_validate({"node": "io1", "devices": twice, "kinds": ["nfs"]})


def test_every_kind_has_a_row_in_each_mode_and_is_offered_where_its_isolation_is_proved():
    rows = {(each.kind, each.mode) for each in CLASSES}
    assert len(CLASSES) == len(rows) == len(get_args(Kind)) * len(get_args(Mode))
    assert set(KINDS) == set(get_args(Kind))
    for each in CLASSES:
        claimed = "proved by test" if each.kind in ("nfs", "glusterfs") else "not proved yet"
        assert each.isolation == claimed
        assert each.offered == (claimed == "proved by test")
        assert each.confined_by
        assert each.size_limit
        assert claimed in notes(each.kind, each.mode)[0]


@pytest.mark.parametrize(
    ("kind", "mode", "reason"),
    [
        (
            "cephfs",
            "shared",
            "shared CephFS is not offered: .*no maker for it, and no test attacks",
        ),
        ("cephfs", "dedicated", "no maker for it, and no test attacks"),
        ("orangefs", "shared", "shared OrangeFS is not offered: .*one name space"),
        ("orangefs", "dedicated", "no maker .*under any user id"),
        ("lustre", "shared", "no maker .*modules of a kernel"),
        ("lustre", "dedicated", "dedicated Lustre is not offered: .*modules of a kernel"),
    ],
)
def test_a_class_that_is_not_proved_is_refused_with_its_reason(kind, mode, reason):
    assert not class_of(kind, mode).offered
    with pytest.raises(Refused, match=reason) as refused:
        see_offered(kind, mode)
    assert refused.value.code == "not_offered"
    with pytest.raises(Refused, match=reason):
        changes.see_possible(request(kind=kind, mode=mode))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "nfs", "servers": 2}, "NFS serves a space from 1 server, not from 2"),
        ({"kind": "nfs", "stripe_size": 65536}, "does not stripe"),
        ({"kind": "nfs", "redundancy": 1}, "keeps no copies"),
        ({"redundancy": 1}, "redundancy 1 needs 2 servers, not 1"),
        ({"redundancy": 1, "servers": 3}, "groups of 2 devices, and 3 servers with 1 each make 3"),
        ({"kind": "nfs", "access": [Access(kind="key", subject="a")]}, "rules by ip, not by key"),
    ],
)
def test_what_a_kind_cannot_do_is_refused(values, said):
    with pytest.raises(Refused, match=said) as refused:
        changes.see_possible(request(**values))
    assert refused.value.code == "invalid"


def test_rules_for_a_kind_that_keeps_none_are_refused(monkeypatch):
    monkeypatch.setitem(KINDS, "nfs", dataclasses.replace(KINDS["nfs"], access=()))
    with pytest.raises(Refused, match="keeps no access rules"):
        changes.see_possible(request(kind="nfs", access=[ip("10.0.0.1")]))


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(Refused) as refused:
        changes.see_possible(request(kind="nfs", servers=2, redundancy=1, stripe_size=4096))
    assert str(refused.value).count(";") == 2
