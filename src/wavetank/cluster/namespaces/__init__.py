"""Steps of the local provider: cgroups, disks, networks and hosts out of Linux namespaces."""
