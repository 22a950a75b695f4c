"""GlusterFS spaces: a volume each, of bricks that are file systems of their own and see nothing else of their server."""
