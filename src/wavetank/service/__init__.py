"""Parallel file systems as a service: tenants ask for spaces, servers give them.

In come requests of tenants (a space of so many bytes, of a kind, shared or dedicated, on so many servers and devices, with
rules of who may mount it) and what servers there are. What leaves are spaces that can be mounted, and events that tell
what became of each request. Everything that is known lies in one folder, in one SQLite database.

Rooms, each of which imports those above it only:

- ``core``: pure. Records, states and their transitions, which kinds are offered in which mode, placement, quotas, and what
  a request makes of a space. No clock, no file, no network: times and identities are arguments.
- ``store``: the folder and its database. Applies requests in one transaction each; reads spaces, events, audit rows.
- ``reconcile``: makes what is wanted out of what is there: a pure decision for each space, and the driver that acts on it
  by a ``Maker``, with every intent written before it is done.
- ``makers``: makers of spaces on servers, one for each kind of file system: NFS and GlusterFS.
- ``api``: the interface over HTTP: an application for tenants, by tokens, and one for the administrator.
- ``client``: asks that interface, as the command line does.
- ``daemon``: the process: sockets, TLS, the thread that makes spaces, the audit log's file.

``core.classes`` says for each kind and mode what confines a tenant, and whether tests that attack it prove that.
"""
