"""uvicorn for a server of one test."""

from __future__ import annotations

import asyncio
import socket

import uvicorn


class Server(uvicorn.Server):
    """Ends within milliseconds. uvicorn's own looks ten times a second whether it should end, and whether all have
    gone: a third of a second after each test. Who grants no time (``timeout_graceful_shutdown=0``) waits for nobody.
    """

    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self.should_exit:
            await asyncio.sleep(0.01)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for sock in sockets or []:
            sock.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        if self.config.timeout_graceful_shutdown is None:
            while state.connections or state.tasks:
                await asyncio.sleep(0.002)
        else:
            for task in list(state.tasks):
                task.cancel()
            await asyncio.sleep(0.01)
        await self.lifespan.shutdown()
