"""The stand-in of Keystone: tokens, the catalogue, and what the services say of their versions."""

from __future__ import annotations

from typing import Any

from openstack_answers import RefusedCallError

PASSWORD, TOKEN, PROJECT = "correct horse", "gAAAAAB-EXAMPLE-token", "f00dcafe"


def token(here: str, asked: Any) -> dict[str, Any]:
    user = asked["auth"]["identity"].get("password", {}).get("user", {})
    if user.get("password") != PASSWORD:
        raise RefusedCallError(401, "The request you have made requires authentication.")
    catalog = [
        {
            "type": kind, "name": name, "id": name,
            "endpoints": [
                {"id": f"{name}1", "interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": f"{here}{path}"}
            ],
        }
        for kind, name, path in (
            ("compute", "nova", "/compute/v2.1"), ("block-storage", "cinder", "/volume/v3"), ("image", "glance", "/image"),
            ("network", "neutron", "/network"), ("identity", "keystone", "/identity"),
        )
    ]  # fmt: skip
    domain = {"id": "default", "name": "Default"}
    return {
        "token": {
            "methods": ["password"], "issued_at": "2026-11-26T00:00:00.000000Z", "expires_at": "2099-01-01T00:00:00.000000Z",
            "user": {"id": "u1", "name": user["name"], "domain": domain}, "roles": [{"id": "r1", "name": "member"}],
            "project": {"id": PROJECT, "name": "lab", "domain": domain}, "catalog": catalog,
        }
    }  # fmt: skip


def versions(here: str) -> dict[str, Any]:
    """What discovery asks for."""

    def one(path: str, identifier: str, **more: str) -> dict[str, Any]:
        links = [{"rel": "self", "href": f"{here}{path}/"}]
        return {"id": identifier, "status": "CURRENT", "links": links, **more}

    nova = one("/compute/v2.1", "v2.1", version="2.96", min_version="2.1")
    keystone = {**one("/identity/v3", "v3.14"), "status": "stable", "media-types": []}
    return {
        "/identity": {"versions": {"values": [keystone]}},
        "/identity/v3": {"version": keystone},
        "/compute": {"versions": [nova]},
        "/compute/v2.1": {"version": nova},
        "/volume": {"versions": [one("/volume/v3", "v3.0", version="3.71", min_version="3.0")]},
        "/volume/v3": {"versions": [one("/volume/v3", "v3.0", version="3.71", min_version="3.0")]},
        "/image": {"versions": [one("/image/v2", "v2.16")]},
        "/network": {"versions": [one("/network/v2.0", "v2.0")]},
    }
