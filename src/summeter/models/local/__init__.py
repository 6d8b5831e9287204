"""Local models: the protocols are in `summeter.models.base`."""
