"""FSx for Lustre: a Lustre that AWS runs, mounted by the Lustre client of the nodes."""
