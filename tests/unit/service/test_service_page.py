"""What the page on the service says of kinds, modes and states is what the code says."""

from __future__ import annotations

import re
from pathlib import Path

from service_web import Service

from wavetank.service.api.app import OPENAPI
from wavetank.service.api.refusals import OTHERS, STATUS
from wavetank.service.core.classes import CLASSES, KINDS
from wavetank.service.core.states import TRANSITIONS
from wavetank.service.store.folder import open_store

PAGE = (Path(__file__).parents[3] / "docs/concepts/service.md").read_text()
REFERENCE = (Path(__file__).parents[3] / "docs/reference/service.md").read_text()


def test_the_table_of_kinds_and_modes_is_that_of_the_code():
    rows = [
        f"| {KINDS[each.kind].title} | {each.mode} | {'yes' if each.refused is None else f'no: {each.refused}'} | "
        f"{each.confined_by} | {each.size_limit} | {each.isolation} |"
        for each in CLASSES
    ]
    found = [line for line in PAGE.splitlines() if "| shared |" in line or "| dedicated |" in line]
    assert found == rows


def test_the_table_of_states_is_that_of_the_code():
    table = PAGE.partition("## States")[2].partition("##")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `")]
    told = {row[0].strip(" `"): row[2] for row in rows}
    assert set(told) == set(TRANSITIONS)
    for state, after in TRANSITIONS.items():
        if state != "failed":
            named = {each for each in TRANSITIONS if f"`{each}`" in told[state]}
            assert named | {"failed", "deleting"} >= after >= named, state


def test_the_reference_has_each_route_and_each_code(tmp_path):
    def routes(part):
        return set(re.findall(r"^\| `([A-Z]+ /v1/\S+)`", part, re.MULTILINE))

    def served(client):
        paths = client.get(OPENAPI).json()["paths"]
        return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}

    with open_store(tmp_path / "service") as store:
        service = Service(store, tmp_path / "made")
        tenants, admins = served(service.ann), served(service.admin)
    for_tenants, for_admin = (
        REFERENCE.partition("## Routes for the administrator")[i] for i in (0, 2)
    )
    assert routes(for_tenants) == tenants
    assert routes(for_admin) == admins - tenants
    assert tenants - admins == {"POST /v1/spaces", "GET /v1/tenant"}
    codes = {
        code: int(status)
        for code, status in re.findall(r"^\| `(\w+)` \| (\d+) \|", REFERENCE, re.MULTILINE)
    }
    assert codes == {**STATUS, **OTHERS}
