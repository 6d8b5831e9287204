"""Pages of runs, served on this machine: an index of each run, and the server."""
