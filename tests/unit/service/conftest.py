"""What tests of the service share."""

import pytest
from service_fakes import GIB, NOON, kind_that_can_do_all, server, tenant

from wavetank.service.store.folder import open_store

__all__ = ["kind_that_can_do_all"]


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "service") as opened:
        opened.put_tenant(tenant("ann"), NOON)
        opened.put_tenant(tenant("bob"), NOON)
        for i in range(3):
            opened.put_server(server(f"io{i}", 100 * GIB, 100 * GIB), NOON)
        yield opened
