"""Judges of what a summary leaves out: `omissions` and `qapyramid`."""
