"""Both applications of the service in this process, over one store, with two tenants and three servers."""

from __future__ import annotations

from fastapi.testclient import TestClient
from service_fakes import GIB, Clock, FolderClusters, FolderMaker, server

from wavetank.service.api.app import administrators_app, tenants_app
from wavetank.service.api.desk import Desk
from wavetank.service.api.rates import Rates
from wavetank.service.reconcile.driver import Reconciler

ASKED = {"name": "data", "size": GIB, "kind": "glusterfs"}


class Seconds:
    """A clock that stands still until it is told to go on."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


class Service:
    """Both applications over one store, with two tenants and three servers."""

    def __init__(self, store, folder):
        self.store, self.now, self.seconds = store, Clock(), Seconds()
        self.woken = 0
        self.maker = FolderMaker(folder)
        self.clusters = FolderClusters(folder.with_name("clusters"))
        self.desk = Desk(
            store,
            frozenset({"glusterfs"}),
            self.now,
            self._wake,
            self.maker.see,
            Rates(1000, 1000, self.seconds),
            Rates(0.5, 2, self.seconds),
            self.clusters.see,
        )
        self.driver = Reconciler(store, self.maker, self.now, clusters=self.clusters)
        self.admin = TestClient(administrators_app(self.desk))
        self.application = tenants_app(self.desk)
        self.tokens = {}
        for name in ("ann", "bob"):
            assert self.admin.put(f"/v1/tenants/{name}", json={}).status_code == 200
            self.tokens[name] = self.admin.post(f"/v1/tenants/{name}/tokens").json()["text"]
        for i in range(3):
            body = server(f"io{i}", 100 * GIB).model_dump(exclude={"node"})
            assert self.admin.put(f"/v1/servers/io{i}", json=body).status_code == 200
        self.ann, self.bob = self.client("ann"), self.client("bob")

    def _wake(self):
        self.woken += 1

    def client(self, name):
        return TestClient(
            self.application, headers={"authorization": f"Bearer {self.tokens[name]}"}
        )

    def create(self, who, **asked):
        found = who.post("/v1/spaces", json={**ASKED, **asked})
        assert found.status_code == 202, found.text
        return found.json()["id"]
