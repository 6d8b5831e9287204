"""Replace personal data by numbered placeholders, consistently in a document and all texts that belong to it."""
