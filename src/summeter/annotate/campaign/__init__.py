"""A campaign: its settings, its folder, its event log, and the service that decides every request."""
