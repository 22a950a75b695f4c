"""Whatever a request says: it is refused in the service's own words, or what daemons are given says that and nothing else."""

from __future__ import annotations

import ipaddress
import json
import re
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from service_fakes import GIB
from service_web import ASKED, Service

from wavetank.service.core.answers import Refusal
from wavetank.service.core.records import Access, Quota, Resize, SpaceRequest
from wavetank.service.makers import packet_filter
from wavetank.service.makers.glusterfs import bricks
from wavetank.service.makers.nfs import servers
from wavetank.service.store.folder import open_store

PIECES = (
    "10.0.0.7", "10.0.0.0", "/24", "/8", "fe80::1", "fd00::", "/64", "::ffff:10.0.0.7", "%", "eth0", "\n", "\r", "}", "{", ";", "#",
    '"', "'", " ", "\t", "=", ",", "*", "\0", "0", "256", "CLIENT { Clients = *; }", "drop", "accept", "é", "\u2028", "node7",
)  # fmt: skip
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), st.text(max_size=40)
)
numbers = st.one_of(
    st.integers(),
    st.sampled_from([2**31, 2**58, 2**58 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30]),
)
anything = st.one_of(
    texts, numbers, st.none(), st.booleans(), st.floats(), st.lists(texts, max_size=2)
)
CALM = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("service") / "folder") as store:
        yield Service(store, tmp_path_factory.mktemp("made") / "made")


def fields_of(model):
    """Bodies of a kind in which each field is what it may be, or anything."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(model.model_fields, anything))


rules = st.fixed_dictionaries(
    {"kind": st.sampled_from(["ip", "certificate", "key"]), "subject": texts},
    optional={"level": st.sampled_from(["rw", "ro", "x"]), "authority": texts},
)


def see_told(answer):
    """That an answer is one of the service: done, or refused with a word and a sentence."""
    assert answer.status_code < 500 or answer.status_code == 507, answer.text
    if answer.status_code >= 400:
        assert Refusal.model_validate(answer.json()).code


@CALM
@given(asked=fields_of(SpaceRequest), access=st.lists(rules, max_size=3))
def test_any_request_for_a_space_is_taken_or_refused(service, asked, access):
    body = {**ASKED, **asked}
    for each in (body, {**ASKED, "access": access}, {**body, "access": access}):
        answer = service.ann.post("/v1/spaces", content=json.dumps(each))
        see_told(answer)
        if answer.status_code == 202:
            see_told(service.ann.delete(f"/v1/spaces/{answer.json()['id']}"))
            service.driver.settle()


@CALM
@given(resize=fields_of(Resize), quota=fields_of(Quota), access=st.lists(rules, max_size=3), number=numbers, text=texts)  # fmt: skip
def test_any_other_request_is_taken_or_refused(service, resize, quota, access, number, text):
    space = service.store.space_named("bob", "kept") or service.store.create_space(
        "bob", SpaceRequest(name="kept", size=GIB, kind="glusterfs"), service.now(), "bob"
    )[0]  # fmt: skip
    service.driver.settle()
    at = f"/v1/spaces/{space.id}"
    see_told(service.bob.post(f"{at}/resize", content=json.dumps(resize)))
    service.driver.settle()
    rules_body = json.dumps({"access": access})
    see_told(service.bob.put(f"{at}/access", params={"generation": number}, content=rules_body))
    service.driver.settle()
    for path in ("/v1/events", "/v1/audit"):
        see_told(service.admin.get(path, params={"after": number, "limit": 10}))
        see_told(service.admin.get(path, params={"after": 0, "limit": number}))
    for params in ({"name": text}, {"after": text}, {"after": number}):
        see_told(service.bob.get("/v1/spaces", params=params))
    see_told(service.bob.get("/v1/events", params={"space": text}))
    see_told(service.admin.put("/v1/tenants/cyd", content=json.dumps(quota)))
    see_told(
        service.admin.post("/v1/tenants/ann/tokens", content=json.dumps({"lifetime_s": number}))
    )


WORD = re.compile(r"[A-Za-z0-9_./:-]+")


def blocks(text):
    """ganesha.conf as [(name, {key: value}, blocks)]; a text that its grammar does not have fails."""
    tokens = re.findall(r"[{};=]|[^\s{};=]+", text)
    found, at = _blocks(tokens, 0)
    assert at == len(tokens)
    return found


def _blocks(tokens, at):
    found = []
    while at < len(tokens) and tokens[at] != "}":
        assert WORD.fullmatch(tokens[at]) and tokens[at + 1] == "{", tokens[at : at + 2]
        name, keys, inner, at = tokens[at], {}, [], at + 2
        while tokens[at] != "}":
            if tokens[at + 1] == "=":
                assert tokens[at + 3] == ";" and WORD.fullmatch(tokens[at + 2])
                keys[tokens[at]] = tokens[at + 2]
                at += 4
            else:
                more, at = _blocks(tokens, at)
                inner += more
        found.append((name, keys, inner))
        at += 1
    return found, at


def access_of(subjects):
    """Rules by address of those that can be."""
    found = {}
    for subject in subjects:
        try:
            rule = Access(kind="ip", subject=subject, level="ro" if len(subject) % 2 else "rw")
        except ValidationError:
            continue
        found[rule.subject] = rule
    return list(found.values())


@CALM
@given(subjects=st.lists(texts, max_size=6))
def test_ganesha_and_the_filter_are_told_the_networks_of_the_rules_and_nothing_else(subjects):
    access = access_of(subjects)
    wanted = {rule.network: rule.level.upper() for rule in access}
    image = SimpleNamespace(space="sp-1f", rules=servers.rules_text(1, access))
    text = servers.text_of(SimpleNamespace(address="10.0.0.3"), image)
    _, _, (_, settings_of, inner) = blocks(text)
    assert settings_of["Access_Type"] == "NONE"
    clients = [keys for name, keys, _ in inner if name == "CLIENT"]
    assert len(clients) == len(wanted)
    assert {
        ipaddress.ip_network(each["Clients"]): each["Access_Type"] for each in clients
    } == wanted

    lines = packet_filter.chain_text("sp-1f", list(wanted), [28102]).splitlines()
    assert all(re.fullmatch(r'[A-Za-z0-9 _.:,;{}@/"-]*', line) for line in lines)
    own = [line.partition(" sp-1f ")[2] for line in lines if line.startswith(f"add rule {packet_filter.TABLE} sp-1f ")]  # fmt: skip
    let_in = []
    for rule in own[:-1]:
        if found := re.fullmatch(r"meta nfproto (ipv[46]) accept", rule):
            let_in.append(ipaddress.ip_network("0.0.0.0/0" if found[1] == "ipv4" else "::/0"))
        else:
            found = re.fullmatch(r"ip6? saddr \{ (.*) \} accept", rule)
            let_in += [ipaddress.ip_network(each) for each in found[1].split(", ")]
    assert own[-1].startswith("reject with tcp reset")
    for network in wanted:
        assert any(each.version == network.version and network.subnet_of(each) for each in let_in)
    for network in let_in:  # and no address more
        parts = [each for each in wanted if each.version == network.version]
        within = [each for each in ipaddress.collapse_addresses(parts) if each.subnet_of(network)]
        assert sum(each.num_addresses for each in within) == network.num_addresses


@CALM
@given(names=st.lists(texts, max_size=5))
def test_bricks_are_told_the_names_of_the_rules_and_nothing_else(names):
    keys = bricks.Keys("-----BEGIN CERTIFICATE-----b", "-----BEGIN CERTIFICATE-----m", "mover-7f")
    access = set()
    for name in names:
        try:
            rule = Access(kind="certificate", subject=name)
        except ValidationError:
            continue
        access.add(rule.model_copy(update={"authority": "-----BEGIN CERTIFICATE-----a"}))
    if not access:
        return
    rules_line = bricks.Rules(24100, frozenset(access), keys=keys).text()
    text = bricks.brick_text(
        SimpleNamespace(address="10.0.0.3"), SimpleNamespace(space="sp-1f", rules=rules_line)
    )
    (line,) = (each for each in text.splitlines() if "ssl-allow" in each)
    words = line.split(" ")
    assert words[:-1] == ["", "", "option", "auth.login.sp-1f.ssl-allow"]
    assert words[-1].split(",") == ["mover-7f", *sorted({rule.subject for rule in access})]
    assert re.fullmatch(r"[A-Za-z0-9._@,-]+", words[-1])


@pytest.mark.parametrize(
    "subject",
    [
        "fe80::1%eth0",
        "fe80::1%} CLIENT { Clients = *; }",
        "fe80::%x/64",
        "10.0.0.7\n",
        "0x0a000007",
    ],
)
def test_what_is_behind_an_address_is_refused(subject):
    with pytest.raises(ValidationError):
        Access(kind="ip", subject=subject)


@pytest.mark.parametrize("what", ["after", "limit"])
def test_numbers_beyond_those_of_the_store_are_refused_in_its_words(service, what):
    for path in ("/v1/events", "/v1/audit"):
        answer = service.admin.get(path, params={what: 2**63})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    answer = service.admin.put("/v1/tenants/cyd", json={"servers": 2**63})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
