"""Judges that answer the questions of a checklist."""
