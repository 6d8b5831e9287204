"""The annotation server, based on aiohttp and a campaign service."""
