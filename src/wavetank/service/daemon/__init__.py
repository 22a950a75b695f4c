"""The process of the service: sockets, the two applications over them, the loop that makes spaces, the audit log's file."""
