"""AWS ParallelCluster 3: a cluster as its configuration."""
