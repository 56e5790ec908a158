"""Requests that anyone can send to a page, made to keep it busy."""

import time

import pytest
from starlette.datastructures import Headers

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
