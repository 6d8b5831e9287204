"""Judges that split summaries into atomic claims and check each claim."""
