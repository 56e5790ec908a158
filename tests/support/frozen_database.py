"""A way to a database that can be frozen: connections stay open, and nothing passes."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


class FreezableProxy:
    """Passes bytes between clients and a port of this machine, while it is not frozen."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._flows = threading.Event()
        self._flows.set()
        self._is_closed = False
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        self._flows.clear()

    def thaw(self) -> None:
        self._flows.set()

    def close(self) -> None:
        self._is_closed = True
        self._flows.set()
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._is_closed:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                self._flows.wait()
                server = socket.create_connection(("127.0.0.1", self._to))
                self._sockets.append(server)
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def freezable(address: str) -> Generator[tuple[FreezableProxy, str]]:
    """Return a proxy of a database, and the address through it."""
    start, _, rest = address.partition("@127.0.0.1:")
    port, _, name = rest.partition("/")
    proxy = FreezableProxy(int(port))
    try:
        yield proxy, f"{start}@127.0.0.1:{proxy.port}/{name}"
    finally:
        proxy.close()
