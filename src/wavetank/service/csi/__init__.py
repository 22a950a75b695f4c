"""The Container Storage Interface: a claim of Kubernetes becomes a space. Version 1 of the interface, over a unix socket.

The controller asks a service of spaces by its REST client and nothing else; the node mounts what the controller tells it, and asks
nobody. So a node has no token. Alone in wavetank this room imports gRPC.

- ``messages``: the interface's messages, as far as they are used here.
- ``statuses``: errors as the interface names them.
- ``turns``: one call for a volume at a time.
- ``requests``: what a claim asks for, as a request for a space.
- ``volumes``: spaces by their identity, asked from the service.
- ``controller``, ``node``, ``identity``: the calls.
- ``mounts``: what is mounted on this machine.
- ``serve``: the process.
"""
