"""The user's own program on the nodes of a cluster that is up."""
