"""FENICE: the claims of a summary, aligned with passages of the document by a network (Scirè et al., 2024)."""
