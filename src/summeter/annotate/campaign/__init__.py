"""A campaign: its settings, folder, event log and service."""
