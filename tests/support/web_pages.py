"""`remit web` of a test: the real server in a thread, on a real socket, with a sandbox behind it."""

import html
import re
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any
from weakref import WeakKeyDictionary

import anyio
import httpx2

from remit.bootstrap import open_notifier
from remit.cli.options import WorkspaceOptions
from remit.gateway.transports.status_files import StatusFiles
from remit.install.change_journal import ChangeJournal
from remit.store.store_facts import store_facts
from remit.upstream.oauth.server_login import ServerLogin
from remit.upstream.oauth.token_store import FileTokenStore
from remit.web.page_model import WebOpeners
from remit.web.web_server import WebTerminal, listen_anywhere, serve_pages
from support.sandbox import Sandbox

CODE = "ABCD-2345"
SECONDS = 30


class WebPages:
    """A running page, and what its terminal showed."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.links: Queue[str] = Queue()
        self.told: list[str] = []
        self.wants_link = threading.Event()

    def link(self) -> str:
        """Return the next one-time link."""
        return self.links.get(timeout=SECONDS)

    def another_link(self) -> str:
        """Press Enter in the terminal, and return the link that it shows then."""
        self.wants_link.set()
        return self.link()

    @contextmanager
    def browser(self, link: str | None = None) -> Generator[httpx2.Client]:
        """Open a link, and yield a client with its session, as a browser has it."""
        with httpx2.Client(base_url=self.url, timeout=SECONDS) as client:
            assert client.get(link or self.link()).status_code == 303
            yield client

    def asked(self) -> bool:
        """Wait a moment, and tell whether somebody pressed Enter."""
        if self.wants_link.wait(0.05):
            self.wants_link.clear()
            return True
        return False


@contextmanager
def web_pages(
    sandbox: Sandbox, directory: Path, *, code: str | None = CODE, client: str = "claude-code"
) -> Generator[WebPages]:
    listener = listen_anywhere()
    pages = WebPages(listener.getsockname()[1])
    data = str(sandbox.root / "data")
    login = ServerLogin(FileTokenStore(data), sandbox.variables, str(sandbox.home))
    openers = WebOpeners(
        sandbox.registry,
        open_notifier,
        lambda: StatusFiles(data),
        lambda: login,
        sandbox.memory_of,
        sandbox.rules_file,
        lambda: ChangeJournal(str(sandbox.database.parent), lambda: int(time.time() * 1000)),
        lambda: None,
        lambda: store_facts(str(sandbox.database), ""),
    )
    terminal = WebTerminal(code, pages.links.put, pages.told.append, pages.asked)
    options = WorkspaceOptions(str(directory), client)
    stop = threading.Event()
    failed: list[BaseException] = []

    async def work() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve_pages, options, listener, openers, terminal)
            await anyio.to_thread.run_sync(stop.wait)
            tasks.cancel_scope.cancel()

    def run() -> None:
        try:
            anyio.run(work)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    with listener:
        thread.start()
        try:
            yield pages
        finally:
            stop.set()
            thread.join(SECONDS)
    assert not failed, failed


_PROOFS: WeakKeyDictionary[httpx2.Client, str] = WeakKeyDictionary()  # as a browser keeps them


def unlock(client: httpx2.Client) -> None:
    """Enter the code, as a person does once, and keep the proof as the page's script does."""
    answer = client.post("/code", **form(client, code=CODE))
    assert answer.status_code == 200
    _PROOFS[client] = answer.text.split('name="remit-proof" content="', 1)[1].split('"', 1)[0]


def form(client: httpx2.Client, path: str = "/here", **fields: str) -> dict[str, Any]:
    """Return what a form of a page sends: its fields, the session's token and proof, and the origin."""
    page = client.get(path).text
    token = page.split('name="csrf" value="', 1)[1].split('"', 1)[0]
    proof = {"proof": _PROOFS[client]} if client in _PROOFS else {}
    origin = {"origin": str(client.base_url).rstrip("/")}
    return {"data": {"csrf": token, **proof, **fields}, "headers": origin}


def fields_of(page: str, action: str = "/") -> dict[str, str]:
    """Return what the last form of a page with this action would send, without the code to type."""
    found = page.rpartition(f'action="{action}"')[2].partition("</form>")[0]
    hidden = re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', found)
    return {name: html.unescape(value) for name, value in hidden}
