"""Requests that are made to keep a page or a gateway busy."""

import time

import pytest
from starlette.datastructures import Headers

from attacks.peers import tool
from attacks.worlds import World, require
from remit.web.request_guard import cookie

LONG = 60_000  # bytes; servers take headers of 64 KiB
COOKIES = {
    "escaped quotes": 'remit_web="' + '\\"' * (LONG // 2) + '\\x"',
    "octal escapes": 'remit_web="' + "\\101" * (LONG // 4) + '"',
    "many cookies": "a=b; " * (LONG // 5),
    "many of one name": "remit_web; " * (LONG // 11),
    "open quotes": 'a="' * (LONG // 3),
    "spaces": "remit_web=" + " " * LONG + "x",
}


@pytest.mark.parametrize("text", COOKIES.values(), ids=COOKIES)
def test_no_cookie_takes_long_to_read(text: str) -> None:
    began = time.process_time()
    cookie(Headers({"cookie": text}), "remit_web")
    assert time.process_time() - began < 0.1


def test_no_name_or_query_of_a_client_takes_long(world: World) -> None:
    world.declare({"git": world.server("git", *(tool(f"tool_{number}") for number in range(50)))})
    long = "x" * 3_000_000
    with world.serve("--strategy", "search") as gateway:
        gateway.tools()
        require("git__tool_1" in gateway.call("discover_tools", query="tool_1"), "the search finds nothing")
        for name, arguments in (
            (long, {}),
            ("call_tool", {"name": long}),
            ("why_tool", {"name": long}),
            ("read_result", {"result": long}),
            ("discover_tools", {"query": f"{long} {long[:500_000]}"}),
        ):
            assert "is longer than" in gateway.call(name, **arguments)[:500]
