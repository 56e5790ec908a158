"""An embedding endpoint on this machine that answers when a test lets it."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 60  # seconds for what takes milliseconds
_MANY = 1_000  # more than any test asks for; a semaphore counts them one by one
_PICTURES = ("picture", "screenshot", "capture")


@dataclass
class EmbeddingService:
    """A real server that holds its answers until a test asks for them."""

    url: str = ""
    status: int = 200
    permits: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    requests: list[list[str]] = field(default_factory=list[list[str]])
    asked: threading.Event = field(default_factory=threading.Event)

    @property
    def variables(self) -> dict[str, str]:
        """The variables that make Remit use it."""
        return {"REMIT_EMBEDDINGS": self.url, "REMIT_EMBEDDINGS_MODEL": "small"}

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    def answer(self, count: int = _MANY) -> None:
        """Let the endpoint give so many answers, held ones first."""
        self.permits.release(count)

    def hold(self) -> None:
        """Hold answers again."""
        self.permits = threading.Semaphore(0)

    def embed(self, texts: list[str]) -> bytes:
        """Embed texts: those about pictures are alike, and unlike all others."""
        vectors = [
            [1.0, 0.1] if any(word in text.lower() for word in _PICTURES) else [0.1, 1.0] for text in texts
        ]
        data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        return json.dumps({"data": data}).encode()


@contextmanager
def embedding_service() -> Generator[EmbeddingService]:
    """Run the endpoint until the block ends; then it answers whoever still waits."""
    service = EmbeddingService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            service.requests.append(texts)
            service.asked.set()
            service.permits.acquire(timeout=PATIENCE)
            body = service.embed(texts)
            try:
                self.send_response(service.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # the client gave up

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            service.answer()
            server.shutdown()
            thread.join()


def threads(name: str) -> list[threading.Thread]:
    """List the running threads of a name."""
    return [thread for thread in threading.enumerate() if thread.name == name]


def wait_for_threads(name: str) -> None:
    """Wait until the threads of a name have ended."""
    for thread in threads(name):
        thread.join(PATIENCE)
