"""Simulate a slow machine: with SUMMETER_WEB_SLOW=6, pages compute six times slower and the server delays replies.

SUMMETER_WEB_SEED (default 0) seeds the delays, so that a race condition can be reproduced.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

LONGEST = 0.15
"""The longest delay of a request, in seconds."""


def factor() -> float:
    """Return how many times slower pages compute; 1 leaves them unchanged."""
    return float(os.environ.get("SUMMETER_WEB_SLOW", "1"))


def throttle(page: Any) -> None:
    """Slow the page down, across navigations, if SUMMETER_WEB_SLOW asks for it."""
    if factor() > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": factor()})


def dawdle(app: web.Application) -> web.Application:
    """Delay every reply of the application if SUMMETER_WEB_SLOW asks for it."""
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
