"""Judges that rest on a network for natural-language inference."""
