"""What a tenant may have, and whether it may have more."""

from __future__ import annotations

from wavetank.service.core.records import Tenant, Usage
from wavetank.service.core.refusals import Refused
from wavetank.units import exact_size


def see_within(tenant: Tenant, used: Usage, more: Usage) -> None:
    """See that a tenant may have more. What is not asked for more of is not looked at.

    Args:
        tenant: with its quota.
        used: what it has.
        more: what is asked for on top; negative where it is given back.

    Raises:
        Refused: quota, with all that is too much: used, asked, allowed.
    """
    quota = tenant.quota
    asked = (
        ("bytes", used.bytes, more.bytes, quota.bytes),
        ("dedicated servers", used.servers, more.servers, quota.servers),
        ("spaces", used.spaces, more.spaces, quota.spaces),
    )
    found = [
        f"{word}: {_shown(word, have)} used, {_shown(word, n)} more asked for, {_shown(word, allowed)} allowed"
        for word, have, n, allowed in asked
        if allowed is not None and n > 0 and have + n > allowed
    ]
    if found:
        raise Refused("quota", f"quota of tenant {tenant.name}: {'; '.join(found)}")


def _shown(word: str, amount: int) -> str:
    return exact_size(amount) if word == "bytes" else str(amount)
