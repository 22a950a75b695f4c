"""The phases of calls that move no data: what a metadata server is asked for.

In: ``Activity``. Out: ``MetadataPhase``.
"""
