"""Models of runs of which only counters are known: what they say exactly, and what has to be assumed."""
