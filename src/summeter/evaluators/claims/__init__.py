"""Claims: a summary taken apart into elementary statements, and each of them checked."""
