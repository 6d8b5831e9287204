"""The annotation server: aiohttp, plain pages, one campaign service behind it."""
