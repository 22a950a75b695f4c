"""Published studies as data: what a paper says, on which clusters, and whether what was measured here says the same."""
