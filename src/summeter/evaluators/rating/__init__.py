"""Judges that score a summary, or compare two summaries, on one aspect (Shen et al., 2023)."""
