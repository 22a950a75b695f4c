"""The stand-in of Keystone: users, tokens, the catalogue, and what the services say of their versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openstack_answers import RefusedCallError

PASSWORD, TOKEN, PROJECT = "correct horse", "gAAAAAB-EXAMPLE-token", "f00dcafe"
# Of the cloud itself: whoever operates it, and Nova when it calls the other services.
OPERATORS_PASSWORD, OPERATORS_TOKEN = "battery staple", "gAAAAAB-EXAMPLE-operator"
UNKNOWN = "The request you have made requires authentication."


@dataclass(frozen=True)
class User:
    """A user in a project.

    Attributes:
        roles: as Keystone lists them, with those that others imply.
        is_of_cloud: whether calls are those of the cloud itself.
    """

    name: str
    password: str
    token: str
    project: tuple[str, str]
    roles: tuple[str, ...]
    is_of_cloud: bool = False


USERS = (
    User("alice", PASSWORD, TOKEN, (PROJECT, "lab"), ("member", "reader")),
    User(
        "nova", OPERATORS_PASSWORD, OPERATORS_TOKEN, ("0e0e0e0e", "service"), ("admin", "manager", "member", "reader", "service"),
        is_of_cloud=True,
    ),
)  # fmt: skip


class Keystone:
    """Who may call, and what there is to be called.

    Attributes:
        has_manila: whether there are shares.
    """

    has_manila: bool

    def identity(
        self, here: str, path: str, method: str, asked: Any, environ: dict[str, Any]
    ) -> tuple[int, Any, list[tuple[str, str]]]:
        if path == "/identity/v3/auth/tokens":
            user = self._let_in(asked) if method == "POST" else self._shown(environ)
            headers = [("X-Subject-Token", user.token)]
            return (
                (201 if method == "POST" else 200),
                _token(here, user, with_shares=self.has_manila),
                headers,
            )
        self.user_of(environ.get("HTTP_X_AUTH_TOKEN"))
        what, _, identifier = path.removeprefix("/identity/v3/").partition("/")
        for user in USERS:
            if what == "projects" and user.project[0] == identifier:
                return 200, {"project": {"id": identifier, "name": user.project[1]}}, []
        raise RefusedCallError(404, f"Could not find {what}: {identifier}.")

    def user_of(self, token: str | None) -> User:
        for user in USERS:
            if user.token == token:
                return user
        raise RefusedCallError(401, UNKNOWN)

    def _let_in(self, asked: Any) -> User:
        given = asked["auth"]["identity"].get("password", {}).get("user", {})
        for user in USERS:
            if (user.name, user.password) == (given.get("name"), given.get("password")):
                return user
        raise RefusedCallError(401, UNKNOWN)

    def _shown(self, environ: dict[str, Any]) -> User:
        """Whose a token is: asked by a service."""
        self.user_of(environ.get("HTTP_X_AUTH_TOKEN"))
        try:
            return self.user_of(environ.get("HTTP_X_SUBJECT_TOKEN"))
        except RefusedCallError as error:
            raise RefusedCallError(404, "Could not find token.") from error


def _token(here: str, user: User, *, with_shares: bool) -> dict[str, Any]:
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
            *([("sharev2", "manilav2", "/share/v2")] if with_shares else []),
        )
    ]  # fmt: skip
    domain = {"id": "default", "name": "Default"}
    identifier, project = user.project
    return {
        "token": {
            "methods": ["password"], "issued_at": "2026-11-26T00:00:00.000000Z", "expires_at": "2099-01-01T00:00:00.000000Z",
            "user": {"id": f"{user.name}1", "name": user.name, "domain": domain}, "audit_ids": ["a1"],
            "roles": [{"id": role, "name": role} for role in user.roles],
            "project": {"id": identifier, "name": project, "domain": domain}, "catalog": catalog, "is_domain": False,
        }
    }  # fmt: skip


def versions(here: str) -> dict[str, Any]:
    """What discovery asks for."""

    def one(path: str, identifier: str, **more: str) -> dict[str, Any]:
        links = [{"rel": "self", "href": f"{here}{path}/"}]
        return {"id": identifier, "status": "CURRENT", "links": links, **more}

    nova = one("/compute/v2.1", "v2.1", version="2.96", min_version="2.1")
    manila = one("/share/v2", "v2.0", version="2.78", min_version="2.0")
    keystone = {**one("/identity/v3", "v3.14"), "status": "stable", "media-types": []}
    return {
        "/identity": {"versions": {"values": [keystone]}},
        "/identity/v3": {"version": keystone},
        "/compute": {"versions": [nova]},
        "/compute/v2.1": {"version": nova},
        "/volume": {"versions": [one("/volume/v3", "v3.0", version="3.71", min_version="3.0")]},
        "/volume/v3": {"versions": [one("/volume/v3", "v3.0", version="3.71", min_version="3.0")]},
        "/image": {"versions": [one("/image/v2", "v2.16")]},
        "/share": {"versions": [manila]},
        "/share/v2": {"versions": [manila]},
        "/network": {"versions": [one("/network/v2.0", "v2.0")]},
    }
