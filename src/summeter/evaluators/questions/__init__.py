"""Judges that ask questions about one text and answer them from another."""
