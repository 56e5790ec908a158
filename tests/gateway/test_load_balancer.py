"""The load balancer's configuration: it repeats what no gateway has begun, and nothing else."""

import re
import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest

from support import haproxy as support
from support.haproxy import HAPROXY, haproxy

_ROOT = Path(__file__).parents[2]
READY = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
ELSEWHERE = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
NOTHING = b""  # as from a gateway that was killed in the middle of a call


class Gateways:
    """Two sockets that answer a call in the same way, and count the calls that arrived."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        self.calls = 0
        self._answers = list(answers)
        self._lock = threading.Lock()

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                asked = connection.recv(65_536)
                if asked.startswith(b"POST"):
                    with self._lock:
                        self.calls += 1
                        answer = self._answers.pop(0)
                    connection.sendall(answer)
                elif asked:
                    connection.sendall(READY)


@contextmanager
def balanced(folder: Path, *answers: bytes) -> Generator[tuple[str, Gateways]]:
    gateways = Gateways(answers)
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        threads = [threading.Thread(target=gateways.serve, args=[each], daemon=True) for each in listeners]
        for thread in threads:
            thread.start()
        try:
            with haproxy(folder, [each.getsockname()[1] for each in listeners]) as port:
                yield f"http://127.0.0.1:{port}/mcp", gateways
        finally:
            for each in listeners:
                each.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


def called(url: str) -> int:
    return httpx2.post(url, json={}, timeout=30).status_code


@pytest.mark.skipif(HAPROXY is None, reason="HAProxy is not installed")
def test_a_call_is_not_repeated_if_its_gateway_dies_without_an_answer(tmp_path: Path) -> None:
    with balanced(tmp_path, NOTHING, READY) as (url, gateways):
        assert (called(url), gateways.calls) == (502, 1)


@pytest.mark.skipif(HAPROXY is None, reason="HAProxy is not installed")
def test_a_call_that_a_gateway_refuses_before_anything_happened_goes_to_another(tmp_path: Path) -> None:
    with balanced(tmp_path, ELSEWHERE, READY) as (url, gateways):
        assert (called(url), gateways.calls) == (200, 2)


def test_the_guide_the_recipe_and_the_tests_repeat_the_same_requests() -> None:
    guide = (_ROOT / "docs/guides/several-gateways.md").read_text("utf-8")
    recipe = (_ROOT / "deploy/haproxy.cfg").read_text("utf-8")
    tested = Path(support.__file__).read_text("utf-8")
    found = [re.findall(r"^ *(retry-on .*)$", text, re.MULTILINE) for text in (guide, recipe, tested)]
    assert found == [["retry-on conn-failure 503"]] * 3
