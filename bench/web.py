"""Measures the page of `remit web` with 10,000 tools, prints the figures beside their aims, and stores them.

First, requests go through the whole application in this process, without the socket. Times are those of the
processor, so they are what a request takes on a machine that does nothing else. Then `remit web` runs as a
process, and a client on a socket measures what a browser waits for: from the request to the last byte.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx2

from remit import __version__
from remit.bootstrap import MEMORY_QUEUE, memory_at, open_configuration_file
from remit.cli.options import WorkspaceOptions
from remit.files.checkout import locate
from remit.files.directory_watcher import DirectoryNotifier
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.transports.status_files import StatusFiles
from remit.install.change_journal import ChangeJournal
from remit.memory.project_memory import Memory
from remit.registry import Registry
from remit.search.engine import SearchEngine
from remit.store.store_facts import store_facts
from remit.upstream.oauth.server_login import ServerLogin
from remit.upstream.oauth.token_store import FileTokenStore
from remit.web.browser_sessions import BrowserSessions
from remit.web.listing_cache import ListingCache
from remit.web.live_feed import LiveFeed
from remit.web.page_model import PageSources, PageView, WebOpeners
from remit.web.request_guard import LINK_PATH, RequestGuard
from remit.web.site_pages import ACTIONS, PAGES
from remit.web.web_app import WebSite, web_app
from run import SERVERS, TOOLS_EACH, figure, large_catalog

RESULTS = Path(__file__).parent / "results" / "web.json"
ROUNDS = 31
PORT = 4280
FILTERS = ("tool", "server 7", "record", "no such thing", "7")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, large_catalog(Path(folder)) as registry:
        figures = anyio.run(measure, registry, Path(folder)) | measure_on_socket(Path(folder))
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "tools": SERVERS * (TOOLS_EACH + 1), **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        print(f"{name:24} p50 {measured['p50']:8.2f}  p95 {measured['p95']:8.2f}{aim}")


async def measure(registry: Registry, root: Path) -> dict[str, dict[str, float]]:
    options = WorkspaceOptions(str(root / "project"), "claude-code")
    data = str(root / "data")
    login = ServerLogin(FileTokenStore(data), {}, str(root))
    files = StatusFiles(data)

    def open_memory(directory: str) -> Memory:
        queue = f"{data}/{MEMORY_QUEUE}"
        return memory_at(f"{data}/remit.db", queue, SearchEngine({}), locate(directory), lambda: 1)

    openers = WebOpeners(
        registry=lambda: registry,
        notifier=DirectoryNotifier,
        status_files=lambda: files,
        login=lambda: login,
        memory=open_memory,
        rules=open_configuration_file,
        journal=lambda: ChangeJournal(data, lambda: 1),
        follow_rules=lambda: None,
        store_facts=lambda: store_facts(f"{data}/remit.db", ""),
    )
    sources = RegistryWorker(PageSources(registry, ListingCache(registry), files, login, openers))
    sessions = BrowserSessions(code=None, clock=time.monotonic)
    feed = LiveFeed(sources, options, DirectoryNotifier)
    view = PageView(options, PAGES, ACTIONS)
    app = RequestGuard(web_app(WebSite(sources, feed.streams, sessions, print)), sessions, view, PORT)
    url = f"http://127.0.0.1:{PORT}"
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url=url) as client:
        await timed(client, f"{LINK_PATH}{sessions.new_link()}")
        cold = await timed(client, "/here")
        paints = [await timed(client, "/here") for _ in range(ROUNDS)]
        filters = [await timed(client, f"/here?q={each}", part=True) for _ in range(7) for each in FILTERS]
        sizes = {page.path: len((await client.get(page.path)).content) / 1024 for page in PAGES}
    return {
        "here_first_ms": figure([cold]),
        "here_ms": figure(paints, aim=300),
        "filter_ms": figure(filters, aim=50),
        "largest_page_kb": figure([max(sizes.values())], aim=300),
    }


def measure_on_socket(root: Path) -> dict[str, dict[str, float]]:
    """Measure `remit web` as a process."""
    with started(root) as link, httpx2.Client(base_url=link.partition("/open/")[0]) as client:
        waited(client, link)
        cold = waited(client, "/here")
        paints = [waited(client, "/here") for _ in range(ROUNDS)]
        filters = [waited(client, f"/here?q={each}", part=True) for _ in range(7) for each in FILTERS]
    return {
        "socket_here_first_ms": figure([cold]),
        "socket_here_ms": figure(paints, aim=300),
        "socket_filter_ms": figure(filters, aim=50),
    }


@contextmanager
def started(root: Path) -> Generator[str]:
    """Start the command, and return its link."""
    homes = {"HOME": str(root / "home"), "REMIT_HOME": str(root / "data")}
    command = [sys.executable, "-m", "remit", "web", "--no-open"]
    with subprocess.Popen(
        command,
        cwd=root / "project",
        env={**os.environ, **homes},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def waited(client: httpx2.Client, path: str, *, part: bool = False) -> float:
    start = time.perf_counter()
    answer = client.get(path, headers={"hx-request": "true"} if part else {})
    assert answer.status_code in (200, 303), answer.text
    return 1000 * (time.perf_counter() - start)


async def timed(client: httpx2.AsyncClient, path: str, *, part: bool = False) -> float:
    start = time.process_time()
    answer = await client.get(path, headers={"hx-request": "true"} if part else {})
    assert answer.status_code in (200, 303), answer.text
    return 1000 * (time.process_time() - start)


if __name__ == "__main__":
    main()
