"""Running kernels on clusters, and what that gives."""
