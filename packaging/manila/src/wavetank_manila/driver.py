"""The share driver that Manila loads: ``share_driver = wavetank_manila.driver.WavetankShareDriver``.

With ``driver_handles_share_servers = False`` shares are spaces on servers that others use too. With True each share has servers of its
own, and is the only one on its share server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from manila import exception
from manila.common import constants
from manila.share import driver, share_types
from oslo_config import cfg
from oslo_log import log

from wavetank_manila import shares
from wavetank_manila.service import Limit, OverHttp, RefusedError, Service, ServiceError
from wavetank_manila.spaces import GIB, AbsentError, Mode, Spaces

OPTIONS = [
    cfg.URIOpt(
        "wavetank_url",
        schemes=["http", "https"],
        help="URL of the service of spaces, e.g. https://storage.example.org:8470. One without TLS is taken on this machine only.",
    ),
    cfg.StrOpt(
        "wavetank_token_file",
        help="File with a token of the service's tenant that all shares of this back end belong to. It is read for each request.",
    ),
    cfg.StrOpt(
        "wavetank_ca_file",
        help="PEM file of the authority that signed the service's certificate, where this machine does not trust it.",
    ),
    cfg.FloatOpt(
        "wavetank_limit",
        default=1800.0,
        min=1.0,
        help="Seconds that making, changing or deleting one share may take, with the time that the service is away.",
    ),
]

LOG = log.getLogger(__name__)

Share = Mapping[str, Any]
"""A share instance of Manila."""


class WavetankShareDriver(driver.ShareDriver):  # type: ignore[misc]
    """Shares are spaces of a service of wavetank, all of one tenant.

    Snapshots, replicas, managing what is there already, and share servers with security services are not offered.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__([True, False], *args, config_opts=[OPTIONS], **kwargs)
        self.ipv6_implemented = True  # else Manila drops such rules, and says that they are active
        self._transport: OverHttp | None = None

    def _within(self, limit_s: float) -> Spaces:
        """The tenant's spaces, with the seconds that one thing may take."""
        assert self._transport is not None  # noqa: S101 - Manila calls do_setup first
        return Spaces(Service(self._transport, lambda: Limit(limit_s)))

    @property
    def _spaces(self) -> Spaces:
        return self._within(self.configuration.wavetank_limit)

    @property
    def _spaces_now(self) -> Spaces:
        """Where nothing is waited for: Manila asks again by itself."""
        return self._within(0.0)

    @property
    def _mode(self) -> Mode:
        return "dedicated" if self.driver_handles_share_servers else "shared"

    @property
    def max_shares_per_share_server(self) -> int:
        """One where there are share servers, whatever is configured: a dedicated space is alone on its servers."""
        return 1 if self.driver_handles_share_servers else -1

    def do_setup(self, context: object) -> None:
        """Read what is configured.

        Raises:
            BadConfigurationException: the URL or the token's file is missing, or the token would be read on the way.
        """
        del context
        needed = ("wavetank_url", "wavetank_token_file")
        if missing := [name for name in needed if not self.configuration.safe_get(name)]:
            told = f"{' and '.join(missing)} must be set in [{self.configuration.config_group}]"
            raise exception.BadConfigurationException(reason=told)
        authority = self.configuration.wavetank_ca_file
        try:
            self._transport = OverHttp(
                self.configuration.wavetank_url,
                Path(self.configuration.wavetank_token_file),
                Path(authority) if authority else None,
            )
        except ValueError as error:
            raise exception.BadConfigurationException(reason=str(error)) from error

    def check_for_setup_error(self) -> None:
        """See that the service answers this tenant, and offers something in this mode.

        Raises:
            ShareBackendException: with the reason.
        """
        try:
            self._spaces_now.capacity(self._mode)
            if not self._protocols():
                raise ServiceError(
                    f"the service offers no {self._mode} {' or '.join(shares.KINDS)}"
                )
        except ServiceError as error:
            raise exception.ShareBackendException(msg=str(error)) from error

    def create_share(
        self, context: object, share: Share, share_server: object = None
    ) -> list[dict[str, Any]]:
        """Make the space of a share; where it is mounted from.

        Raises:
            InvalidShareType: its type says what no space can be.
            ShareBackendException: refused, or it cannot be made.
        """
        del context, share_server
        specs = share_types.get_extra_specs_from_share(share)
        try:
            wanted = any(key.startswith(shares.SCOPE) for key in specs)
            fields = shares.fields_of(specs, self._spaces.fields()) if wanted else {}
            asked = shares.request_of(
                share["id"], share["size"], share["share_proto"], self._mode, fields
            )
            return shares.locations_of(self._spaces.create(asked))
        except shares.SpecError as error:
            raise exception.InvalidShareType(reason=str(error)) from error
        except ServiceError as error:
            raise exception.ShareBackendException(msg=str(error)) from error

    def delete_share(self, context: object, share: Share, share_server: object = None) -> None:
        """Have the space of a share gone, with its data. One that was never made is no error.

        Raises:
            ShareBackendException: it cannot be removed.
        """
        del context, share_server
        try:
            self._spaces.delete(shares.space_name(share["id"]))
        except ServiceError as error:
            raise exception.ShareBackendException(msg=str(error)) from error

    def extend_share(self, share: Share, new_size: int, share_server: object = None) -> None:
        """Give the space of a share more bytes, while it is used.

        Raises:
            ShareBackendException: refused, or that cannot be made.
        """
        del share_server
        try:
            self._spaces.resize(shares.space_name(share["id"]), int(new_size) * GIB)
        except ServiceError as error:
            raise exception.ShareBackendException(msg=str(error)) from error

    def shrink_share(self, share: Share, new_size: int, share_server: object = None) -> None:
        """Take bytes from the space of a share, where its kind can.

        Raises:
            NotImplementedError: the service refuses it: the share stays as it is, and available.
            ShareBackendException: that cannot be made.
        """
        del share_server
        try:
            self._spaces.resize(shares.space_name(share["id"]), int(new_size) * GIB)
        except RefusedError as error:
            raise NotImplementedError(str(error)) from error
        except ServiceError as error:
            raise exception.ShareBackendException(msg=str(error)) from error

    def update_access(
        self,
        context: object,
        share: Share,
        access_rules: Sequence[Mapping[str, Any]],
        add_rules: Sequence[Mapping[str, Any]],
        delete_rules: Sequence[Mapping[str, Any]],
        update_rules: Sequence[Mapping[str, Any]],
        share_server: object = None,
    ) -> dict[str, dict[str, str]]:
        """Have a space let in whom all rules name, and nobody else. What is to be added or taken away follows from that.

        Returns:
            Identity of a rule that cannot be kept -> that it is in error.

        Raises:
            ShareResourceNotFound: there is no such space.
            ShareBackendException: refused, or that cannot be made.
        """
        del context, add_rules, delete_rules, update_rules, share_server
        rules, stand_for, refused = shares.rules_of(access_rules)
        try:
            found = self._spaces.open_to(shares.space_name(share["id"]), rules)
        except AbsentError as error:
            raise exception.ShareResourceNotFound(share_id=share["id"]) from error
        except ServiceError as error:
            raise exception.ShareBackendException(msg=str(error)) from error
        refused |= {each: why for place, why in found.items() for each in stand_for[place]}
        for identity, why in refused.items():
            LOG.warning(
                "Access rule %(rule)s of share %(share)s cannot be kept: %(why)s",
                {"rule": identity, "share": share["id"], "why": why},
            )
        return {identity: {"state": constants.ACCESS_STATE_ERROR} for identity in refused}

    def ensure_shares(self, context: object, shares_here: Sequence[Share]) -> dict[str, Any]:
        """What has become of shares while Manila was away: where they are mounted from now, and whether they are there.

        Rules of all shares that are there are applied again, as Manila may have ended amid that. Those that are in force are no change.
        """
        del context
        try:
            there = self._spaces_now.all()
        except ServiceError as error:
            LOG.error("Shares are not looked at, and stay as they are: %s", error)
            return {}
        updates: dict[str, Any] = {}
        for share in shares_here:
            space = there.get(shares.space_name(share["id"]))
            try:
                if space is None:
                    raise ServiceError("the service has no such space")
                updates[share["id"]] = {
                    "export_locations": shares.locations_of(space),
                    "reapply_access_rules": True,
                }
                if space["state"] == "failed":
                    raise ServiceError(f"the space has failed: {space['reason']}")
            except ServiceError as error:
                LOG.error("Share %(id)s: %(why)s", {"id": share["id"], "why": error})
                updates[share["id"]] = {"status": constants.STATUS_ERROR}
        return updates

    def manage_existing(self, share: Share, driver_options: object) -> None:
        """Refuse a space that is there already.

        Raises:
            ManageInvalidShare: always.
        """
        del driver_options
        raise exception.ManageInvalidShare(
            reason="a space that was not made for a share cannot become one: make a share, and copy"
        )

    def manage_existing_with_server(
        self, share: Share, driver_options: object, share_server: object = None
    ) -> None:
        """Refuse a space that is there already.

        Raises:
            ManageInvalidShare: always.
        """
        del share_server
        self.manage_existing(share, driver_options)

    def get_network_allocations_number(self) -> int:
        """None: servers of spaces are in the operator's network, where the tenant's network must reach them."""
        return 0

    def _setup_server(
        self, network_info: Sequence[Mapping[str, Any]], metadata: object = None
    ) -> dict[str, str]:
        """Note a share server. Its space gets its servers when the share is made: the share's type says how many.

        Raises:
            BadConfigurationException: the share network has security services.
        """
        del metadata
        found = [each["type"] for info in network_info for each in info["security_services"]]
        if found:
            raise exception.BadConfigurationException(
                reason=f"spaces know no users of {', '.join(sorted(set(found)))}: take a share network without security services"
            )
        return {"wavetank_url": str(self.configuration.wavetank_url)}

    def _teardown_server(self, server_details: object, security_services: object = None) -> None:
        """Nothing is left of a share server: its space went with the share."""
        del server_details, security_services

    def get_configured_ip_versions(self) -> list[int]:
        """Places that shares are mounted from are of IPv4. Rules are given to the service as they are, which says which it keeps."""
        return [4]

    def _update_share_stats(self, data: object = None) -> None:
        """Tell the scheduler what the servers' disks have and have free, as far as the tenant's quota leaves it."""
        del data
        found = self._spaces_now.capacity(self._mode)
        reserved = self.configuration.safe_get("reserved_share_percentage")
        super()._update_share_stats(
            {
                "vendor_name": "wavetank",
                "driver_version": "1.0",
                "storage_protocol": "_".join(self._protocols()),
                "total_capacity_gb": found.total,
                "free_capacity_gb": found.free,
                "reserved_percentage": reserved,
                "reserved_snapshot_percentage": reserved,
                "reserved_share_extend_percentage": (
                    self.configuration.safe_get("reserved_share_extend_percentage") or reserved
                ),
                "thin_provisioning": False,
            }
        )

    def _protocols(self) -> list[str]:
        """Protocols whose spaces the service offers in this mode."""
        offered = self._spaces_now.kinds(self._mode)
        return [name for name, kind in shares.KINDS.items() if offered.get(kind, "") is None]
