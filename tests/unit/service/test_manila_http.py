"""How Manila's driver reaches the service: by TCP, with a token and an authority that are read from files."""

from __future__ import annotations

import signal

import pytest
from service_certificates import Authority
from service_daemon import Daemon

from wavetank.service.core.answers import Revoked, TenantAnswer, TokenMade
from wavetank_manila.service import (
    Limit,
    NoAnswerError,
    OverHttp,
    RefusedError,
    Service,
    ServiceError,
)
from wavetank_manila.spaces import Capacity, Spaces


def spaces_of(url, token, authority=None):
    return Spaces(Service(OverHttp(url, token, authority), lambda: Limit(0.0)))


def new_token(daemon, file):
    with daemon.admin() as admin:
        file.write_text(admin.send("POST", "/v1/tenants/ann/tokens", TokenMade).text + "\n")


def test_the_token_is_read_for_each_request(tmp_path):
    file = tmp_path / "token"
    with Daemon(tmp_path / "service") as daemon:
        with daemon.admin() as admin:
            admin.send("PUT", "/v1/tenants/ann", TenantAnswer, {})
        spaces = spaces_of(daemon.url, file)
        with pytest.raises(ServiceError, match="cannot read the token"):
            spaces.all()
        new_token(daemon, file)
        assert spaces.capacity("shared") == Capacity(0, 0)  # it has no servers
        with daemon.admin() as admin:
            admin.send("DELETE", "/v1/tenants/ann/tokens", Revoked)
        with pytest.raises(RefusedError, match="needs the token of a tenant") as refused:
            spaces.all()
        assert refused.value.code == "unauthorized"
        new_token(daemon, file)
        assert spaces.all() == {}
        assert daemon.ends(signal.SIGTERM) == 0
        with pytest.raises(NoAnswerError, match="no answer from the service at http://127"):
            spaces.all()


def test_a_service_is_trusted_by_its_authority_alone(tmp_path):
    authority = Authority(tmp_path)
    pem, key = authority.signs("service")
    file = tmp_path / "token"
    with Daemon(tmp_path / "service", certificate=pem, key=key) as daemon:
        with daemon.admin() as admin:
            admin.send("PUT", "/v1/tenants/ann", TenantAnswer, {})
        new_token(daemon, file)
        assert spaces_of(daemon.url, file, authority.file).all() == {}
        with pytest.raises(ServiceError, match=r"is not trusted.*wavetank_ca_file"):
            spaces_of(daemon.url, file).all()
        with pytest.raises(ServiceError, match="cannot use the authority"):
            spaces_of(daemon.url, file, tmp_path / "none").all()
