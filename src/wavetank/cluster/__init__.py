"""Virtual clusters: nodes from a provider, with a file system on them. Knows nothing of what runs there."""
