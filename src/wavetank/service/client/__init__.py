"""The service as another program asks it: over HTTP for tenants, by a unix socket for the administrator."""
