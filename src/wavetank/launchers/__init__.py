"""Programs that start MPI jobs: one driver a file."""
