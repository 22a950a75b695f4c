"""Guests: virtual machines that run in nodes out of namespaces, one each, with their network, limits and root."""
