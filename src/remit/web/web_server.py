"""Serves the page on loopback until it is stopped."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.to_thread

from remit.errors import ServingError
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.transports.lifecycle import run_until_stopped
from remit.gateway.transports.socket_server import Address, bind_socket, serve_until_cancelled
from remit.web import templating
from remit.web.browser_sessions import BrowserSessions
from remit.web.listing_cache import ListingCache
from remit.web.live_feed import LiveFeed
from remit.web.page_model import PageRequest, PageSources, PageView, WebOpeners
from remit.web.request_guard import LINK_PATH, RequestGuard
from remit.web.site_pages import ACTIONS, PAGES
from remit.web.web_app import WebSite, web_app

if TYPE_CHECKING:
    from remit.cli.options import WorkspaceOptions

HOST = "127.0.0.1"
PORT = 4280  # the first one that is tried
TRIED = 20  # ports, from the first one


class WebTerminal(NamedTuple):
    """What the command does with the page's link, and how it talks."""

    code: str | None  # that lets a browser decide; None: there is no terminal to show it on
    show_link: Callable[[str], None]
    tell: Callable[[str], None]
    wants_link: Callable[[], bool] | None  # waits a moment; whether the person asks for another link


def listen(port: int | None) -> socket.socket:
    """Listen on a port, or without one on the first that is free.

    Raises:
        ServingError: the port is taken.
    """
    if port is not None:
        return bind_socket(Address(HOST, port))
    for each in range(PORT, PORT + TRIED):
        with suppress(ServingError):
            return bind_socket(Address(HOST, each))
    return listen_anywhere()


def listen_anywhere() -> socket.socket:
    """Listen on any free port."""
    return bind_socket(Address(HOST, 0))


def serve(
    options: WorkspaceOptions, listener: socket.socket, openers: WebOpeners, terminal: WebTerminal
) -> None:
    """Serve the page until a signal arrives.

    Raises:
        RemitError: the directory or client cannot be used.
    """
    with listener:
        run_until_stopped(partial(serve_pages, options, listener, openers, terminal))


async def serve_pages(
    options: WorkspaceOptions, listener: socket.socket, openers: WebOpeners, terminal: WebTerminal
) -> None:
    """Serve the page until cancelled.

    Raises:
        RemitError: the directory or client cannot be used.
    """
    address = Address(HOST, listener.getsockname()[1])
    sessions = BrowserSessions(code=terminal.code, clock=time.monotonic)

    def show_link() -> None:
        terminal.show_link(address.url(f"{LINK_PATH}{sessions.new_link()}"))

    with openers.registry() as registry:
        listings = ListingCache(registry)
        sources = RegistryWorker(
            PageSources(registry, listings, openers.status_files(), openers.login(), openers)
        )
        feed = LiveFeed(sources, options, openers.notifier)
        site = WebSite(sources, feed.streams, sessions, terminal.tell)
        guard = RequestGuard(web_app(site), sessions, PageView(options, PAGES, ACTIONS), address.port)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(feed.watch)
            if terminal.wants_link is not None:
                tasks.start_soon(_offer_links, terminal.wants_link, show_link, terminal.tell)
            show_link()  # the socket listens already
            tasks.start_soon(_prepare, sources, options)
            await serve_until_cancelled(guard, listener, on_stop=feed.streams.end)


async def _prepare(sources: RegistryWorker[PageSources], options: WorkspaceOptions) -> None:
    """Make the first page once, while the browser starts, so it is quick when it is asked for."""
    asked = PageRequest(options, {})

    def make(given: PageSources) -> None:
        answer = PAGES[0].read(given, asked)
        templating.render(answer.fragment or answer.template, {**answer.values(), "asked": asked, "root": ""})

    await sources.run(make)


async def _offer_links(
    wants_link: Callable[[], bool], show_link: Callable[[], None], tell: Callable[[str], None]
) -> None:
    """Show a new link whenever the person asks for one: the browser may be closed."""
    while True:
        if await anyio.to_thread.run_sync(wants_link, abandon_on_cancel=True):
            show_link()
            tell("this is another link; an earlier one that was not opened no longer works")
