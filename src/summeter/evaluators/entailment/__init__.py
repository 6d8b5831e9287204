"""Judges that use a network for natural-language inference (NLI)."""
