"""`remit web` of a test: the real server in a thread, over a world in a temporary directory."""

import html
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx2

from remit.catalog import JoinedConfigurations, Registry
from remit.cli import Here
from remit.clients import Scanner
from remit.memory import open_memory
from remit.store import open_store
from remit.web.listing import Source
from remit.web.server import PageServer, listen
from support.catalogs import World

SECONDS = 30


class WebPages:
    """A running page."""

    def __init__(self, server: PageServer, url: str) -> None:
        self._server = server
        self.url = url

    def link(self) -> str:
        """Return a new one-time link."""
        return self._server.new_link()

    @contextmanager
    def browser(self) -> Generator[httpx2.Client]:
        """Open a link, and yield a client with its session, as a browser has it."""
        with httpx2.Client(base_url=self.url, timeout=SECONDS) as client:
            assert client.get(self.link()).status_code == 303
            yield client


@contextmanager
def web_pages(
    world: World, *, may_decide: bool = True, client: str = "claude-code", has_memory: bool = False
) -> Generator[WebPages]:
    """Serve the pages of a world's project until the end of the block."""

    @contextmanager
    def memory(_directory: str) -> Generator[Any]:
        with open_store(world.store.database.place, durable=True) as store:
            yield open_memory(store, None, world.workspace())

    def source() -> Source:  # in the thread that reads
        store, clock = open_store(world.store.database.place), lambda: world.now
        scanner = Scanner(store, world.machine, clock, now_ns=lambda: world.now * 1_000_000)
        configurations = JoinedConfigurations(store, world.machine, clock)
        return Source(Registry(store, world.machine, clock, scanner, configurations), memory)

    with listen(0) as listener:
        here = Here(str(world.shop), client)
        server = PageServer(here, listener, source, may_decide=may_decide, has_memory=has_memory)
        failures: list[BaseException] = []

        def run() -> None:
            try:
                server.run()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield WebPages(server, f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            server.stop()
            thread.join(SECONDS)
    assert not thread.is_alive()
    assert not failures, failures


def form(client: httpx2.Client, path: str = "/overview", **fields: str) -> dict[str, Any]:
    """Return what a form of a page sends: its fields, the session's token, and the origin."""
    token = client.get(path).text.split('name="csrf" value="', 1)[1].split('"', 1)[0]
    return {"data": {"csrf": token, **fields}, "headers": {"origin": str(client.base_url).rstrip("/")}}


def fields_of(page: str, action: str) -> dict[str, str]:
    """Return what the last form of a page with this action sends."""
    content = page.rpartition(f'action="{action}"')[2].partition("</form>")[0]
    hidden = re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', content)
    return {name: html.unescape(value) for name, value in hidden}
