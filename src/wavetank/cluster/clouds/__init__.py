"""Clusters whose hosts a cloud makes: what is made, what it may cost, and that nothing of it is left."""
