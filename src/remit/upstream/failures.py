"""Why a server did not answer: other programs' errors in our words, without a secret in them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast
from urllib.parse import urlsplit

from remit.decision.launch import Launch, Transport
from remit.text.redaction import redact
from remit.text.secrets import may_be_secret, secrets_in, words_of
from remit.upstream.connect import ProcessRecord
from remit.upstream.launch.variable_expansion import Expanded
from remit.upstream.messaging.messages import LostError, ProtocolError, RefusedError, UnreachableError
from remit.upstream.ports import JsonRpcError
from remit.upstream.upstream_model import Failure, Upstream

MAX_LINES = 5  # of what a server wrote last
MAX_REASON = 500  # characters


def explain(
    error: BaseException, traces: ProcessRecord, upstream: Upstream, hidden: Iterable[str]
) -> Failure:
    """Say why a server did not answer, and what to do."""
    values = frozenset(hidden)
    reason, hint = _reason(_leaf(error), traces, upstream)
    text = "" if traces.server is None else redact(traces.server.tail.text, values)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return Failure(reason=_short(redact(reason, values)), hint=hint, output=lines[-MAX_LINES:])


def missing(names: Sequence[str], upstream: Upstream) -> Failure:
    """Say which variables a server needs that are not set."""
    many = ", ".join(f"`{name}`" for name in names)
    verb = "is" if len(names) == 1 else "are"
    return Failure(
        reason=f"needs {many}, which {verb} not set",
        hint=f"set {names[0]} in your environment, or give it a default in {upstream.source}",
    )


def secrets_of(expanded: Expanded, launch: Launch, environment: Mapping[str, str]) -> Iterator[str]:
    """List all that must not be shown: what was put in, and what the entry and the environment hold."""
    yield from expanded.values
    for given in (launch, expanded.launch):
        yield from given.env.values()
        for value in given.headers.values():
            yield value
            yield value.rpartition(" ")[2]  # without its scheme, such as `Bearer`
        yield from url_secrets(given.url)
        yield from secrets_of_words(given.args)
    yield from (value for name, value in environment.items() if may_be_secret(value, name))


def secrets_of_words(words: Iterable[str]) -> Iterator[str]:
    """List what must not be shown of a command's arguments."""
    for word in words_of(words):
        if may_be_secret(word.value, word.name):
            yield word.value
        yield from secrets_in(word.value, word.name)
        if "://" in word.value:
            yield from url_secrets(word.value)


def url_secrets(url: str) -> Iterator[str]:
    """List the parts of a URL that must not be shown."""
    try:
        parts = urlsplit(url)
        yield from filter(None, (parts.username, parts.password, parts.query, parts.fragment))
    except ValueError:
        yield url
        return
    yield from filter(may_be_secret, parts.path.split("/"))
    for pair in f"{parts.query}&{parts.fragment}".split("&"):
        name, _, value = pair.partition("=")
        if may_be_secret(value, name):
            yield value


def _short(text: str) -> str:
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"


def _leaf(error: BaseException) -> BaseException:
    """Find the first single error in a group of them."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _reason(error: BaseException, traces: ProcessRecord, upstream: Upstream) -> tuple[str, str | None]:
    match error:
        case ProtocolError():
            return str(error), None
        case TimeoutError():
            return (
                f"did not answer within {upstream.deadline:g} s",
                "give it longer with `--timeout`, or try its entry by hand",
            )
        case RefusedError():
            return str(error), _hint_at(error, upstream)
        case UnreachableError():
            return (
                f"cannot be reached: {error}",
                f"check that it runs, and its `url` in {upstream.source}",
            )
        case LostError():
            reason = str(error) or "ended before it answered"
            return f"{reason}{_end(traces)}", f"look at its entry in {upstream.source}"
        case JsonRpcError():
            return f"answers with an error: {error}", None
        case FileNotFoundError() | NotADirectoryError():
            return (
                "cannot be started: its command was not found",
                f"install it, or correct its entry in {upstream.source}",
            )
        case OSError():
            why = (error.strerror or "it cannot be started").lower()
            return f"cannot be started: {why}", f"look at its entry in {upstream.source}"
        case ValueError():
            part = (
                "command, arguments or variables"
                if upstream.launch.transport is Transport.STDIO
                else "URL or headers"
            )
            return (
                f"its {part} hold a character that cannot be passed on",
                f"look at its entry in {upstream.source}",
            )
        case _:
            return f"cannot be asked: {type(error).__name__}", f"look at its entry in {upstream.source}"


def _hint_at(error: RefusedError, upstream: Upstream) -> str:
    status = error.status
    if error.scope is not None:
        return f'run `remit login {upstream.label} --scope "{error.scope}"`'
    if status == 401:
        return f"run `remit login {upstream.label}`, or give it its headers in {upstream.source}"
    if status == 403:
        return f"run `remit login {upstream.label}` as someone who may, or see its entry in {upstream.source}"
    return f"check that it runs, and its `url` in {upstream.source}"


def _end(traces: ProcessRecord) -> str:
    server = traces.server
    if server is None or server.was_forced or server.exit_code is None:
        return ""
    return f" (exit code {server.exit_code})" if server.exit_code >= 0 else f" (signal {-server.exit_code})"
