"""Redaction: personal data become numbered placeholders, the same in a document and all that belongs to it."""
