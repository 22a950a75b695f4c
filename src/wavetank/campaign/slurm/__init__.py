"""Campaigns on a cluster that exists, through its batch system Slurm."""
