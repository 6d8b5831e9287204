"""The English parser: dependency trees, and the phrases that a text names."""
