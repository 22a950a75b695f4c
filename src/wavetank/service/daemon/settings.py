"""What the administrator chooses when the service starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from wavetank.document import Record

DAY_S = 86400.0


class Settings(Record):
    """Of one process."""

    folder: Path = Field(
        description="of the database, the administrator's socket and the audit log"
    )
    host: str = Field(default="127.0.0.1", description="a name or an address of this machine")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(default=8470, description="0: a free one")
    certificate: Path | None = Field(
        default=None, description="PEM, with those between it and a root"
    )
    key: Path | None = Field(default=None, description="PEM, without a password")
    rate_per_s: Annotated[float, Field(gt=0)] = Field(
        default=50.0, description="requests of a tenant in a second, in the long run"
    )
    burst: Annotated[int, Field(ge=1)] = Field(
        default=200, description="requests of a tenant at once"
    )
    keep_gone_s: Annotated[float, Field(ge=0)] = Field(
        default=30 * DAY_S, description="age at which spaces that are gone are forgotten"
    )
    retry_s: Annotated[float, Field(gt=0)] = Field(
        default=5.0, description="between looks at what is not settled yet"
    )
    examine_s: Annotated[float, Field(gt=0)] = Field(
        default=60.0, description="between looks at all that is there"
    )
    certificate_s: Annotated[float, Field(gt=0)] = Field(
        default=60.0, description="between looks whether the certificate was renewed"
    )
