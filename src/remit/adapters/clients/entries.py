"""Server entries as most clients write them: a command with its arguments, or a URL with its headers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from remit.adapters.clients.wire import Entry, EntryError, Fields
from remit.core.launch import Launch, Transport

_TYPES = MappingProxyType(
    {
        "stdio": Transport.STDIO,
        "http": Transport.HTTP,
        "streamable-http": Transport.HTTP,
        "streamableHttp": Transport.HTTP,
        "sse": Transport.SSE,
    }
)
_OFF = {"disabled": True, "enabled": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRule:
    """How one client writes a server: what differs from the usual."""

    types: Mapping[str, Transport] = field(default_factory=lambda: _TYPES)  # of `type`; none: it says nothing
    untyped: Transport | None = Transport.HTTP  # a URL without a type; None: the client refuses it
    switch: str | None = None  # `disabled` or `enabled`, where an entry can be switched off
    command: str = "command"
    env: str = "env"
    urls: tuple[str, ...] = ("url",)  # the first that is there counts
    read_env: Callable[[Fields, str], dict[str, str]] = Fields.pairs

    def __call__(self, _name: str, entry: Fields) -> Entry:
        """Read one entry.

        Raises:
            EntryError: the client would skip it.
        """
        transport = self._transport(entry)
        launch = self._stdio(entry) if transport is Transport.STDIO else self._remote(entry, transport)
        is_off = self.switch is not None and entry.flag(self.switch) is _OFF[self.switch]
        return Entry(launch, is_off=is_off)

    def _transport(self, entry: Fields) -> Transport:
        if "type" in entry and self.types:
            found = self.types.get(entry.text("type"))
            if found is None:
                raise EntryError(f"type: not one of {', '.join(self.types)}")
            return found
        if self.command in entry or not any(url in entry for url in self.urls):
            return Transport.STDIO
        if self.untyped is None:
            remote = (name for name, transport in self.types.items() if transport is not Transport.STDIO)
            raise EntryError(f"`{self.urls[0]}` without a `type`; it is one of {', '.join(remote)}")
        return self.untyped

    def _stdio(self, entry: Fields) -> Launch:
        command = entry.text(self.command)
        if not command:
            raise EntryError(f"{self.command}: must not be empty")
        return Launch(
            command=command,
            args=tuple(entry.texts("args")),
            env=self.read_env(entry, self.env),
            cwd=entry.text("cwd") if "cwd" in entry else None,
        )

    def _remote(self, entry: Fields, transport: Transport) -> Launch:
        url = next((name for name in self.urls if name in entry), self.urls[0])
        return Launch(transport=transport, url=entry.text(url), headers=entry.pairs("headers"))
