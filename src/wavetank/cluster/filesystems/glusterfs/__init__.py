"""GlusterFS: bricks on data servers, one volume."""
