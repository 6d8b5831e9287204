"""Read, clean, describe, deduplicate and sample raw documents."""
