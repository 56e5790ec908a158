"""Pages are told of changes while they are open, and of nothing else."""

import threading
from collections.abc import Iterator

import httpx2

from support.catalogs import World
from support.web_pages import web_pages


def changes(browser: httpx2.Client) -> Iterator[str]:
    with browser.stream("GET", "/events") as events:
        yield "open"
        yield from (line for line in events.iter_lines() if line.startswith("data:"))


def test_a_page_is_told_of_a_change_of_a_file(world: World, browser: httpx2.Client) -> None:
    told = changes(browser)
    next(told)
    writer = threading.Timer(1.2, world.write, (world.shop / "ready.txt", ""))
    writer.start()
    assert next(told) == "data: 1"
    writer.join()
    assert '<div class="on"><dt>ready' in browser.get("/here").text


def test_reading_a_page_is_no_change(world: World, browser: httpx2.Client) -> None:
    told = changes(browser)
    next(told)
    for path in ("/overview", "/here", "/doctor", "/waiting"):
        browser.get(path)
    writer = threading.Timer(2.5, world.write, (world.shop / "ready.txt", ""))
    writer.start()
    assert next(told) == "data: 1"
    assert writer.finished.is_set()


def test_the_page_ends_with_its_streams_open(world: World) -> None:
    with web_pages(world) as pages, pages.browser() as browser:
        stream = browser.send(browser.build_request("GET", "/events"), stream=True)
        assert stream.status_code == 200
        stream.close()
