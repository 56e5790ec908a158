"""Server entries as most clients write them: a command with arguments, or a URL with headers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.decision.declared_launch import Launch, Transport

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


class ServerEntry(NamedTuple):
    """One server of a config file."""

    launch: Launch
    is_off: bool = False  # disabled in its own entry


def process(
    entry: EntryFields,
    *,
    command: str = "command",
    env: str = "env",
    cwd: str | None = "cwd",  # None: the client has no such field
    read_env: Callable[[EntryFields, str], dict[str, str]] = EntryFields.pairs,
) -> Launch:
    """Read an entry that starts a process, given the names of its fields."""
    program = entry.text(command)
    if not program:
        raise EntryError(f"{command}: must not be empty")
    return Launch(
        command=program,
        args=tuple(entry.texts("args")),
        env=read_env(entry, env),
        cwd=entry.text(cwd) if cwd is not None and cwd in entry else None,
    )


def remote(
    entry: EntryFields, transport: Transport, *, url: str = "url", helper: str | None = None
) -> Launch:
    """Read an entry with a URL; `helper` is the field of a command that produces headers."""
    return Launch(
        transport=transport,
        url=entry.text(url),
        headers=entry.pairs("headers"),
        headers_helper=entry.text(helper) if helper is not None and helper in entry else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRule:
    """How one client writes a server, where it differs from the default."""

    types: Mapping[str, Transport] = field(
        default_factory=lambda: _TYPES
    )  # values of `type`; empty: the field is ignored
    untyped: Transport | None = Transport.HTTP  # of a URL without a type; None: invalid
    switch: str | None = None  # `disabled` or `enabled`, if entries have such a field
    command: str = "command"
    env: str = "env"
    urls: tuple[str, ...] = ("url",)  # the first present one counts
    read_env: Callable[[EntryFields, str], dict[str, str]] = EntryFields.pairs

    def __call__(self, _name: str, entry: EntryFields) -> ServerEntry:
        """Read one entry.

        Raises:
            EntryError: the client would skip it.
        """
        transport = self._transport(entry)
        if transport is Transport.STDIO:
            launch = process(entry, command=self.command, env=self.env, read_env=self.read_env)
        else:
            url = next((name for name in self.urls if name in entry), self.urls[0])
            launch = remote(entry, transport, url=url)
        is_off = self.switch is not None and entry.flag(self.switch) is _OFF[self.switch]
        return ServerEntry(launch, is_off=is_off)

    def _transport(self, entry: EntryFields) -> Transport:
        if "type" in entry and self.types:
            found = self.types.get(entry.text("type"))
            if found is None:
                raise EntryError(f"type: not one of {', '.join(self.types)}")
            return found
        if self.command in entry or not any(url in entry for url in self.urls):
            return Transport.STDIO
        if self.untyped is None:
            remote = (name for name, transport in self.types.items() if transport is not Transport.STDIO)
            raise EntryError(f"`{self.urls[0]}` without a `type`; expected one of {', '.join(remote)}")
        return self.untyped
