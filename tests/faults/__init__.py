"""Faults, dealt out by seed to real runs of a very small scale: what survived, of how many tried. `make test-faults`, or python -m faults --help."""
