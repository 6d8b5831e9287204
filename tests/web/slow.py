"""A slow machine on demand: SUMMETER_WEB_SLOW=6 makes every page compute six times slower and its server dawdle.

SUMMETER_WEB_SEED (0 unless told) seeds how long each request waits, so that a race found once can be looked at again.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

LONGEST = 0.15
"""Seconds that a request waits at most."""


def factor() -> float:
    """How many times slower pages compute; 1 is as they are."""
    return float(os.environ.get("SUMMETER_WEB_SLOW", "1"))


def throttle(page: Any) -> None:
    """Slows the page down, through all it visits, where it is asked for."""
    if factor() > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": factor()})


def dawdle(app: web.Application) -> web.Application:
    """The application, late with every reply where it is asked for."""
    if factor() > 1:
        chance = random.Random(os.environ.get("SUMMETER_WEB_SEED", "0"))

        @web.middleware
        async def late(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            await asyncio.sleep(chance.uniform(0, LONGEST))
            reply = await handler(request)
            await asyncio.sleep(chance.uniform(0, LONGEST))
            return reply

        app.middlewares.insert(0, late)
    return app
