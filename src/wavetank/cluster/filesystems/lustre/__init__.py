"""Lustre: targets on servers, mounted on clients."""
