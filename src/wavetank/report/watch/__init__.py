"""A report that is served on this machine while its campaign runs."""
