"""FENICE, which aligns the claims of a summary with passages of the document (Scirè et al., 2024)."""
