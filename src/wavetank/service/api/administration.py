"""Routes of the administrator: tenants, their quotas and tokens, servers and their templates, audit rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import ValidationError

from wavetank.document import explain
from wavetank.service.api.desk import Desk, DeskHere
from wavetank.service.api.refusals import TOLD
from wavetank.service.api.spaces import After, Limit
from wavetank.service.core.answers import (
    AuditPage,
    Revoked,
    Servers,
    ServerSetting,
    Templates,
    TemplateSetting,
    TenantAnswer,
    Tenants,
    TokenMade,
    TokenRequest,
    Tokens,
)
from wavetank.service.core.own_servers import Stock, Template
from wavetank.service.core.records import Held, Name, Quota, Server, Tenant
from wavetank.service.core.refusals import Refused

NO_CONTENT = 204

router = APIRouter(tags=["administration"], responses=TOLD)


def _told(desk: Desk, tenant: Tenant) -> TenantAnswer:
    return TenantAnswer(name=tenant.name, quota=tenant.quota, used=desk.store.usage(tenant.name))


@router.get("/v1/tenants")
def tenants(desk: DeskHere) -> Tenants:
    """All tenants, with their quotas and what they have."""
    return Tenants(tenants=tuple(_told(desk, each) for each in desk.store.tenants()))


@router.put("/v1/tenants/{name}")
def put_tenant(name: Name, quota: Quota, desk: DeskHere) -> TenantAnswer:
    """Make a tenant, or give it another quota."""
    return _told(desk, desk.store.put_tenant(Tenant(name=name, quota=quota), desk.now()))


@router.delete("/v1/tenants/{name}", status_code=NO_CONTENT)
def remove_tenant(name: Name, desk: DeskHere) -> Response:
    """Forget a tenant that has no spaces, and its tokens."""
    desk.store.remove_tenant(name, desk.now())
    return Response(status_code=NO_CONTENT)


@router.post("/v1/tenants/{name}/tokens", status_code=201)
def add_token(name: Name, desk: DeskHere, asked: TokenRequest | None = None) -> TokenMade:
    """Make a token of a tenant. Its text is shown this once."""
    now = desk.now()
    lifetime_s = None if asked is None else asked.lifetime_s
    expires = None if lifetime_s is None else now + timedelta(seconds=lifetime_s)
    token, text = desk.store.add_token(name, now, expires=expires)
    return TokenMade(token=token, text=text)


@router.delete("/v1/tenants/{name}/tokens")
def revoke_tokens(name: Name, desk: DeskHere) -> Revoked:
    """Take all tokens of a tenant back."""
    return Revoked(n=desk.store.revoke_tokens(name, desk.now()))


@router.get("/v1/tokens")
def tokens(
    desk: DeskHere,
    tenant: Annotated[Name | None, Query(description="only those of this tenant")] = None,
) -> Tokens:
    """Tokens without their secrets, which are kept nowhere."""
    return Tokens(tokens=desk.store.tokens(tenant))


@router.delete("/v1/tokens/{identity}", status_code=NO_CONTENT)
def revoke_token(identity: str, desk: DeskHere) -> Response:
    """Take one token back."""
    desk.store.revoke_token(identity, desk.now())
    return Response(status_code=NO_CONTENT)


@router.get("/v1/servers")
def servers(desk: DeskHere) -> Servers:
    """All servers, with what is free of them and who is on them."""
    return Servers(servers=desk.store.servers())


@router.put("/v1/servers/{node}")
def put_server(node: Name, setting: ServerSetting, desk: DeskHere) -> Held:
    """Add a server, or change what it gives, once it was looked at and can serve."""
    try:
        server = Server(node=node, devices=setting.devices, kinds=setting.kinds)
    except ValidationError as error:
        raise Refused("invalid", f"server {node}: {explain(error)}") from error
    desk.see_serves(server, "admin")
    return desk.store.put_server(server, desk.now())


@router.delete("/v1/servers/{node}", status_code=NO_CONTENT)
def remove_server(node: Name, desk: DeskHere) -> Response:
    """Forget a server that no space is on."""
    desk.store.remove_server(node, desk.now())
    return Response(status_code=NO_CONTENT)


@router.get("/v1/templates")
def templates(desk: DeskHere) -> Templates:
    """All templates of servers, and how many servers spaces have of each."""
    return Templates(templates=desk.store.templates())


@router.put("/v1/templates/{name}")
def put_template(name: Name, setting: TemplateSetting, desk: DeskHere) -> Stock:
    """Add a template, or change it for spaces to come, once it was seen that servers of it can come up."""
    template = Template(
        name=name, **{key: getattr(setting, key) for key in TemplateSetting.model_fields}
    )
    desk.see_comes_up(template, "admin")
    return desk.store.put_template(template, desk.now())


@router.delete("/v1/templates/{name}", status_code=NO_CONTENT)
def remove_template(name: Name, desk: DeskHere) -> Response:
    """Forget a template. Spaces that have servers of it keep them."""
    desk.store.remove_template(name, desk.now())
    return Response(status_code=NO_CONTENT)


@router.get("/v1/audit")
def audit(
    desk: DeskHere,
    after: After = 0,
    limit: Limit = 100,
) -> AuditPage:
    """Who asked for what, and what came of it."""
    found = desk.store.audit(after, limit)
    return AuditPage(rows=found, next=found[-1].number if found else after)
