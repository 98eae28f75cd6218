"""One page about a run, for people."""
