"""Rating judges: a score of a summary, or a preference between two, on one aspect (Shen et al., 2023)."""
