"""What makes spaces on servers: a driver for each kind of file system. Each is a ``reconcile.maker.Maker``."""
