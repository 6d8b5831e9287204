"""The append-only log of a campaign: one schema for SQLite and PostgreSQL, one writer, events in order."""
