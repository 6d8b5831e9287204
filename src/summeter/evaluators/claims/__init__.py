"""Claims: splitting summaries into atomic statements, and checking each."""
