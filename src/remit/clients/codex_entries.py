"""Codex's server entries, validated as the client validates them."""

from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.clients.parsing.server_entries import ServerEntry
from remit.decision.declared_launch import Launch, Transport, VariableSyntax

NAME = "codex"

_FOR_A_PROCESS = ("args", "env", "env_vars", "cwd")
_FOR_A_URL = (
    "url",
    "auth",
    "bearer_token_env_var",
    "env_http_headers",
    "http_headers",
    "http_headers_helper",
    "oauth",
    "oauth_resource",
)


def read_entry(_name: str, entry: EntryFields) -> ServerEntry:
    """Read one entry.

    Raises:
        EntryError: the client would not start with it, or would skip it in a plugin.
    """
    is_off = entry.flag("enabled") is False
    if "bearer_token" in entry:
        raise EntryError("`bearer_token` is not supported; use `bearer_token_env_var`")
    if "command" in entry:
        _refuse(entry, _FOR_A_URL, "command")
        return ServerEntry(_process(entry), is_off)
    if "url" in entry:
        _refuse(entry, _FOR_A_PROCESS, "url")
        return ServerEntry(_remote(entry), is_off)
    raise EntryError("neither `command` nor `url` is given, here or in a file that this one overrides")


def _process(entry: EntryFields) -> Launch:
    passed_on = {(name := _variable(item)): _named(name) for item in entry.items_of("env_vars")}
    return Launch(
        command=entry.text("command"),
        args=tuple(entry.texts("args")),
        env={**passed_on, **entry.pairs("env")},
        cwd=entry.text("cwd") if "cwd" in entry else None,
    )


def _remote(entry: EntryFields) -> Launch:
    headers = {name: _named(variable) for name, variable in entry.pairs("env_http_headers").items()}
    if "bearer_token_env_var" in entry:
        headers["Authorization"] = f"Bearer {_named(entry.text('bearer_token_env_var'))}"
    headers |= entry.pairs("http_headers")
    return Launch(transport=Transport.HTTP, url=entry.text("url"), headers=headers)


def _named(variable: str) -> str:
    """Refer to a variable in a syntax that the client's literal texts cannot contain."""
    return VariableSyntax.NAMED.replace("X", variable)


def _variable(item: object) -> str:
    return item if isinstance(item, str) else EntryFields(item).text("name")


def _refuse(entry: EntryFields, fields: tuple[str, ...], beside: str) -> None:
    for field in fields:
        if field in entry:
            raise EntryError(f"`{field}` cannot be combined with `{beside}`")
