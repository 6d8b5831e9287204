"""FENICE, which aligns claims with passages of the document (Scirè et al., 2024)."""
