"""The annotation server: aiohttp, plain pages, one desk behind it."""
