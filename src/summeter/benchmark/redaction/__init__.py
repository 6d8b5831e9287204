"""Replacement of personal data by numbered placeholders.

The numbers are consistent in a document and all texts that belong to it.
"""
