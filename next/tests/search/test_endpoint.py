"""Embedding with an endpoint: a real server on this machine, and what can go wrong with it."""

import json
import math
import socket
import struct
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from remit.errors import EmbeddingError
from remit.search import Vector, build_document, open_model
from remit.search.endpoint import EndpointEmbedder, is_loopback, tool_text

KEY = "sk-very-secret"
READ = build_document("read_file", "disk", "Reads a file.", ["path"])


@dataclass
class Reply:
    """An answer to give instead of vectors."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Service:
    """What was asked, and what is answered in turn; vectors, when nothing else is."""

    url: str = ""
    requests: list[Any] = field(default_factory=list[Any])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    paths: list[str] = field(default_factory=list[str])
    replies: list[Reply] = field(default_factory=list[Reply])
    is_silent: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    def embedder(self, key: str | None = None, pauses: list[float] | None = None) -> EndpointEmbedder:
        sleep = (pauses if pauses is not None else []).append
        return EndpointEmbedder(self.url, "small", key, sleep=sleep)

    @property
    def host(self) -> str:
        return self.url.split("/")[2]


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0]


def embeddings(texts: list[str]) -> bytes:
    data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
    return json.dumps({"data": data[::-1], "model": "small"}).encode()


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.requests.append(body)
            made.headers.append(dict(self.headers))
            made.paths.append(self.path)
            if made.is_silent:
                made.over.wait(30)
                return
            reply = made.replies.pop(0) if made.replies else Reply(body=embeddings(body["input"]))
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


def numbers(one: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(one) // 4}f", one)


def failure(embedder: EndpointEmbedder, text: str = "read a file") -> str:
    with pytest.raises(EmbeddingError) as raised:
        embedder.embed_query(text)
    told = "".join(traceback.format_exception(raised.value)) + str(raised.value.hint)
    assert KEY not in told
    return str(raised.value)


def test_a_query_is_posted_with_its_model_and_comes_back_at_length_one(service: Service) -> None:
    asked = service.embedder()
    assert numbers(asked.embed_query("abc")) == pytest.approx((3 / math.sqrt(10), 1 / math.sqrt(10), 0))
    assert service.requests == [{"model": "small", "input": ["abc"]}]
    assert service.paths == ["/v1/embeddings"]
    assert asked.model == f"small@{service.host}"


def test_tools_are_sent_as_texts_in_batches_and_answers_are_put_in_order(service: Service) -> None:
    tools = [build_document("a" * number) for number in range(1, 131)]
    found = [numbers(one) for one in service.embedder().embed_tools(tools)]
    assert [len(request["input"]) for request in service.requests] == [64, 64, 2]
    assert [round(x / y) for x, y, _ in found] == list(range(1, 131))


def test_no_tools_are_no_request(service: Service) -> None:
    assert service.embedder().embed_tools([]) == []
    assert service.requests == []


def test_a_tool_is_written_so_that_anyone_can_read_it() -> None:
    text = "read file (disk): Reads a file. | path"
    assert tool_text(READ) == text, "change `EndpointEmbedder.model`, too: it names how texts are written"
    assert tool_text(build_document("ping")) == "ping"
    assert tool_text(build_document("ping", title="Knock")) == "ping: Knock"


def test_a_path_with_a_slash_and_parameters_of_the_url_stay(service: Service) -> None:
    EndpointEmbedder(service.url + "/?api-version=1", "small").embed_query("abc")
    assert service.paths == ["/v1/embeddings?api-version=1"]


def test_texts_that_an_endpoint_would_refuse_are_sent_as_it_takes_them(service: Service) -> None:
    asked = service.embedder()
    for text in ("", "half \ud800", "x" * 10_000):
        asked.embed_query(text)
    assert [request["input"][0] for request in service.requests] == ["?", "half ?", "x" * 8000]


def test_a_key_is_shown_to_the_endpoint_and_to_nobody_else(service: Service) -> None:
    asked = service.embedder(KEY)
    asked.embed_query("abc")
    service.embedder().embed_query("abc")
    assert [headers.get("Authorization") for headers in service.headers] == [f"Bearer {KEY}", None]
    assert KEY not in repr(asked) + asked.model


def test_a_redirect_is_not_followed(service: Service) -> None:
    for status in (301, 302, 303, 307, 308):
        service.replies = [Reply(status, headers={"Location": service.url + "/elsewhere"})]
        assert failure(service.embedder(KEY)).endswith(
            f"`{service.host}`: it answers {status} {HTTPStatus(status).phrase}"
        )
    assert set(service.paths) == {"/v1/embeddings"}
    assert len(service.paths) == 5


@pytest.mark.parametrize(
    "url", ["http://example.com/v1", "http://10.0.0.1:8080", "http://localhost.example.com"]
)
def test_a_key_does_not_travel_in_clear_text_to_another_machine(url: str) -> None:
    with pytest.raises(EmbeddingError, match="would be sent in clear text") as raised:
        EndpointEmbedder(url, "small", KEY)
    assert KEY not in str(raised.value)
    assert EndpointEmbedder(url, "small").model.startswith("small@")


@pytest.mark.parametrize("key", ["sk-\nvery-secret", "sk-vèry-secret", "sk\x7f-very-secret"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_told(key: str) -> None:
    with pytest.raises(EmbeddingError, match="cannot be sent") as raised:
        EndpointEmbedder("https://example.com/v1", "small", key)
    assert "ry-secret" not in str(raised.value)


def test_this_machine_is_told_by_its_name() -> None:
    local = ["localhost", "127.0.0.1", "127.8.8.8", "::1"]
    others = ["10.0.0.1", "example.com", "127.0.0.1.example.com", ""]
    assert [host for host in [*local, *others] if is_loopback(host)] == local


def test_the_key_is_read_from_its_file(service: Service, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    path.chmod(0o644)
    with pytest.raises(EmbeddingError, match="others can read"):
        open_model(service.url, "small", str(path))
    path.chmod(0o600)
    model = open_model(service.url, "small", str(path))
    assert model is not None
    assert model.embed_query("abc")
    assert service.headers[0]["Authorization"] == f"Bearer {KEY}"
    with pytest.raises(EmbeddingError, match="`embeddings_key_file` cannot be read: No such file"):
        open_model(service.url, "small", str(tmp_path / "none"))


def test_no_proxy_stands_before_this_machine(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert service.embedder(KEY).embed_query("abc")


def test_a_busy_endpoint_is_asked_again_for_tools_with_growing_pauses(service: Service) -> None:
    service.replies = [Reply(429, headers={"Retry-After": "1"}), Reply(503), Reply(500)]
    pauses: list[float] = []
    assert service.embedder(pauses=pauses).embed_tools([READ])
    assert pauses == [1, 1, 2]
    service.replies = [Reply(503) for _ in range(9)]
    with pytest.raises(EmbeddingError, match="answers 503 Service Unavailable"):
        service.embedder(pauses=pauses).embed_tools([READ])
    assert pauses[3:] == [0.5, 1, 2]


def test_a_search_waits_for_no_second_attempt(service: Service) -> None:
    service.replies = [Reply(503)]
    pauses: list[float] = []
    with pytest.raises(EmbeddingError, match="answers 503"):
        service.embedder(pauses=pauses).embed_query("abc")
    assert (pauses, len(service.requests)) == ([], 1)


@pytest.mark.parametrize("wait", ["3600", "99999999999", "Wed, 21 Oct 2099 07:28:00 GMT", "-5"])
def test_a_long_pause_is_refused(service: Service, wait: str) -> None:
    service.replies = [Reply(429, headers={"Retry-After": wait}) for _ in range(4)]
    pauses: list[float] = []
    with pytest.raises(EmbeddingError, match="answers 429 Too Many Requests"):
        service.embedder(pauses=pauses).embed_tools([READ])
    assert sum(pauses) <= 3.5


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "embeddings_key_file"),
        (404, "embeddings_model"),
        (599, "later"),
    ],
)
def test_a_refusal_is_told_by_its_status_alone(service: Service, status: int, advice: str) -> None:
    body = json.dumps({"error": {"message": f"Incorrect API key: {KEY}"}}).encode()
    service.replies = [Reply(status, body) for _ in range(2)]
    with pytest.raises(EmbeddingError) as raised:
        service.embedder(KEY).embed_query("abc")
    assert str(raised.value).startswith(f"the embeddings of `{service.host}`: it answers {status}")
    assert KEY not in str(raised.value)
    assert advice in str(raised.value.hint)


GOOD = {"index": 0, "embedding": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("no JSON", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "1 were requested, 0 returned"),
        ({"data": [GOOD, {**GOOD, "index": 1}]}, "1 were requested, 2 returned"),
        ({"data": [{**GOOD, "index": 3}]}, "1 were requested, 1 returned"),
        ({"data": [{"embedding": [1.0]}]}, "1 were requested, 1 returned"),
        ({"data": ["x"]}, "1 were requested, 1 returned"),
        ({"data": [{**GOOD, "embedding": []}]}, "only of zeros"),
        ({"data": [{**GOOD, "embedding": "AAAA"}]}, "not numbers"),
        ({"data": [{**GOOD, "embedding": [0, 0.0]}]}, "only of zeros"),
        ({"data": [{**GOOD, "embedding": [1.0, None]}]}, "not made of finite numbers"),
        ('{"data": [{"index": 0, "embedding": [1.0, NaN]}]}', "not made of finite numbers"),
        ('{"data": [{"index": 0, "embedding": [1e999]}]}', "not made of finite numbers"),
        ('{"data": [{"index": 0, "embedding": [' + "9" * 400 + "]}]}", "not numbers"),
    ],
)
def test_an_answer_that_holds_no_vectors_is_an_error(service: Service, answer: object, says: str) -> None:
    service.replies = [Reply(body=(answer if isinstance(answer, str) else json.dumps(answer)).encode())]
    assert says in failure(service.embedder())


def test_vectors_of_two_lengths_are_an_error(service: Service) -> None:
    rows = [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]
    service.replies = [Reply(body=json.dumps({"data": rows}).encode())]
    with pytest.raises(EmbeddingError, match="not all of one length"):
        service.embedder().embed_tools([READ, READ])


def test_whole_numbers_are_numbers(service: Service) -> None:
    service.replies = [Reply(body=b'{"data": [{"index": 0, "embedding": [3, 4]}]}')]
    assert numbers(service.embedder().embed_query("abc")) == pytest.approx((0.6, 0.8))


def test_an_answer_that_breaks_off_is_an_error(service: Service) -> None:
    service.replies = [Reply(body=b'{"da', headers={"Content-Length": "9000"})]
    assert "it breaks off the connection" in failure(service.embedder())


def test_an_endpoint_that_says_nothing_is_given_up(service: Service) -> None:
    service.is_silent = True
    hasty = EndpointEmbedder(service.url, "small", KEY, timeout=0.2)
    assert failure(hasty) == f"the embeddings of `{service.host}`: it takes too long"


def test_an_endpoint_that_is_not_there_is_named_with_its_cause() -> None:
    told = failure(EndpointEmbedder("http://127.0.0.1:9/v1?token=" + KEY, "small", KEY))
    assert told == "the embeddings of `127.0.0.1:9`: it cannot be reached"


def test_something_that_is_no_web_server_is_an_error() -> None:
    def greet(listening: socket.socket) -> None:
        with listening.accept()[0] as caller:
            asked = b""
            while not asked.endswith(b"}"):  # what is left unread would reset the connection
                asked += caller.recv(4096)
            caller.sendall(b"220 mail ready\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=greet, args=[listening])
        thread.start()
        told = failure(EndpointEmbedder(f"http://127.0.0.1:{listening.getsockname()[1]}", "small"))
        thread.join()
    assert told.endswith("does not speak HTTP")
