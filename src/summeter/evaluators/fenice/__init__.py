"""FENICE: a summary's claims, each aligned with the passages of the document by a network (Scirè et al., 2024)."""
