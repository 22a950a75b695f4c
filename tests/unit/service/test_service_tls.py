"""TLS of the service: who trusts it, what is said of each wrong certificate, and what becomes of a renewed one."""

from __future__ import annotations

import os
import signal
import socket
import ssl
from datetime import timedelta

import grpc
import pytest
from service_certificates import DAY, Authority
from service_daemon import Daemon

from waiting import HANG_S, until
from wavetank.errors import ServiceError, UsageError
from wavetank.service.client.connection import as_tenant
from wavetank.service.client.spaces import Spaces
from wavetank.service.core.answers import Health, TenantAnswer, TokenMade
from wavetank.service.csi.statuses import status_of
from wavetank.service.csi.volumes import Volumes
from wavetank.service.daemon.listening import tls_of
from wavetank.service.daemon.renewal import Renewal
from wavetank.service.daemon.settings import Settings


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def token_of(daemon):
    with daemon.admin() as admin:
        admin.send("PUT", "/v1/tenants/ann", TenantAnswer, {})
        return admin.send("POST", "/v1/tenants/ann/tokens", TokenMade).text


def serial_of(url, authority):
    """Number of the certificate that a service shows."""
    trusts = ssl.create_default_context(cafile=str(authority.file))
    host, port = url.removeprefix("https://").split(":")
    with (
        socket.create_connection((host, int(port)), timeout=HANG_S) as plain,
        trusts.wrap_socket(plain, server_hostname=host) as shown,
    ):
        return int(shown.getpeercert()["serialNumber"], 16)


def test_tenants_and_the_driver_for_kubernetes_ask_over_tls(tmp_path, authority):
    pem, key = authority.signs("service")
    with Daemon(tmp_path / "service", certificate=pem, key=key) as daemon:
        assert daemon.url.startswith("https://127.0.0.1:")
        token = token_of(daemon)
        with daemon.tenant(token, authority=authority.file) as connection:
            assert Spaces(connection).all() == []
            assert Volumes(Spaces(connection)).tenant().name == "ann"
        with (
            daemon.tenant(token) as connection,
            pytest.raises(
                ServiceError, match=r"no authority that is trusted here.*_CA names"
            ) as told,
        ):
            Volumes(Spaces(connection)).tenant()
        assert status_of(told.value) is grpc.StatusCode.UNAVAILABLE  # and so it is tried again
        plain = daemon.url.replace("https", "http")
        with (
            as_tenant(plain, token) as connection,
            pytest.raises(ServiceError, match="with a certificate is asked by https://"),
        ):
            connection.get("/v1/health", Health)
        assert daemon.ends(signal.SIGTERM) == 0


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"address": "192.0.2.1"}, "its certificate is another one's .*127.0.0.1.*: ask at a name"),
        ({"begins": -2 * DAY, "ends": -DAY}, "its certificate has expired: its administrator"),
        (
            {"begins": DAY, "ends": 2 * DAY},
            "its certificate is not valid yet: see that the clocks of both machines",
        ),
    ],
)
def test_a_certificate_that_is_not_trusted_is_refused_with_what_is_wrong(
    tmp_path, authority, made, said
):
    pem, key = authority.signs("service", **made)
    with Daemon(tmp_path / "service", certificate=pem, key=key) as daemon:
        with (
            daemon.tenant("none", authority=authority.file) as connection,
            pytest.raises(
                ServiceError, match=f"the service at {daemon.url} is not trusted: {said}"
            ),
        ):
            connection.get("/v1/health", Health)
        with (
            daemon.tenant("none", authority=Authority(tmp_path, "another").file) as connection,
            pytest.raises(ServiceError, match="no authority that is trusted here signed"),
        ):
            connection.get("/v1/health", Health)


def test_a_service_without_a_certificate_is_not_taken_for_one_that_has_one(tmp_path):
    with Daemon(tmp_path / "service") as daemon:
        url = daemon.url.replace("http", "https")
        with (
            as_tenant(url, "none") as connection,
            pytest.raises(ServiceError, match=r"TLS does not begin there .* asked by http://"),
        ):
            connection.get("/v1/health", Health)


def test_an_authority_that_is_none_is_told_before_anything_is_asked(tmp_path):
    none = tmp_path / "none.pem"
    for content in (None, "no certificate"):
        if content is not None:
            none.write_text(content)
        with (
            pytest.raises(ServiceError, match=f"cannot use {none} as the authority"),
            as_tenant("https://127.0.0.1:1", "token", none),
        ):
            raise AssertionError


def test_a_renewed_certificate_is_shown_without_a_new_start(tmp_path, authority):
    old, new = authority.signs("service"), authority.signs("renewed", ends=timedelta(days=9))
    with Daemon(tmp_path / "service", certificate=old[0], key=old[1], certificate_s=0.05) as daemon:
        before = serial_of(daemon.url, authority)
        for renewed, used in zip(new, old, strict=True):
            os.replace(renewed, used)  # each by itself, as programs that renew them do
        until(lambda: serial_of(daemon.url, authority) == before + 1)
        with daemon.tenant(token_of(daemon), authority=authority.file) as connection:
            assert Spaces(connection).all() == []
        assert daemon.ends(signal.SIGTERM) == 0


def test_a_renewed_certificate_that_cannot_be_used_leaves_the_old_one_in_use(
    tmp_path, authority, caplog
):
    (pem, key), (other, its_key) = authority.signs("service"), authority.signs("other")
    settings = Settings(folder=tmp_path, certificate=pem, key=key)
    tls = tls_of(settings)
    renewal = Renewal(settings, tls)
    renewal.look()
    assert caplog.messages == []
    os.replace(other, pem)  # and the key is still the old one's
    renewal.look()
    renewal.look()
    (said,) = caplog.messages
    assert "they belong together" in said
    assert said.endswith("The certificate from before stays in use")
    os.replace(its_key, key)
    renewal.look()
    assert caplog.messages[1].endswith("was renewed, and is in use")
    key.unlink()
    renewal.look()
    assert "cannot read the key" in caplog.messages[2]


def test_a_certificate_that_cannot_be_used_is_told(tmp_path, authority):
    pem, key = authority.signs("service")
    with pytest.raises(UsageError, match="go together"):
        tls_of(Settings(folder=tmp_path, certificate=pem))
    with pytest.raises(ServiceError, match="No such file"):
        tls_of(Settings(folder=tmp_path, certificate=tmp_path / "none.pem", key=key))
    with pytest.raises(ServiceError, match="they belong together"):
        tls_of(Settings(folder=tmp_path, certificate=key, key=key))
    read_by_all = tmp_path / "open.key"
    read_by_all.write_bytes(key.read_bytes())
    read_by_all.chmod(0o644)
    with pytest.raises(ServiceError, match="chmod o= "):
        tls_of(Settings(folder=tmp_path, certificate=pem, key=read_by_all))
