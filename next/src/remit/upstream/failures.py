"""Says why a server did not answer, in our own words and without secrets."""

import json
import re
import shlex
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast
from urllib.parse import quote, quote_plus, urlsplit

from remit.decision import Failure, Launch
from remit.errors import NotReadyError, UpstreamError
from remit.protocol import (
    ErrorCode,
    JsonRpcError,
    LostError,
    ProtocolError,
    RefusedError,
    UnreachableError,
)
from remit.secrets import may_be_secret, redactor, secrets_in, words_of
from remit.text import one_line
from remit.upstream.model import Upstream
from remit.upstream.variables import Expanded

MAX_LINES = 5  # of the server's last output
MAX_REASON = 500  # characters
MAX_DEPTH = 100  # levels of JSON; whoever goes through it does so one level in another
IN_ITS_SANDBOX = "cannot be started in its sandbox: "
WAIT = "wait a moment, then call it again"
_BUBBLEWRAP = "bwrap: "  # its messages on stderr
_SHORTEST = 8  # characters of a value that is also hidden in other encodings


class Remains(NamedTuple):
    """What a process left."""

    output: str = ""  # the end of its stderr
    code: int | None = None  # None: there is none, or Remit ended it


def explain(error: BaseException, upstream: Upstream, remains: Remains, secrets: Iterable[str]) -> Failure:
    """Explain an error, and suggest what to do."""
    values = frozenset(secrets)
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    reason, hint = _reason(error, upstream, remains)
    return Failure(
        reason=one_line(output_redactor(values)(reason), MAX_REASON),
        hint=hint,
        next_step=_next_step(error, upstream),
        output=last_output(remains.output, values)[-MAX_LINES:],
    )


def last_output(output: str, secrets: Iterable[str]) -> list[str]:
    """Return the lines that a process wrote, without secrets."""
    text = output_redactor(secrets)(output) if output else ""
    return [line.strip() for line in text.splitlines() if line.strip()]


def without_secrets(error: JsonRpcError, secrets: Iterable[str]) -> JsonRpcError:
    """Return a server's error without secrets.

    The data of a required URL elicitation stays: it is a question to the user, and its address must work.
    """
    redact = output_redactor(secrets)

    def redacted(value: object) -> object:
        match value:
            case str():
                return redact(value)
            case list():
                return [redacted(item) for item in cast("list[object]", value)]
            case dict():
                fields = cast("dict[str, object]", value)
                return {redact(key): redacted(item) for key, item in fields.items()}
            case _:
                return value

    data = None if is_too_deep(error.data) else error.data
    is_question = error.code == ErrorCode.URL_ELICITATION_REQUIRED
    return JsonRpcError(error.code, redact(str(error)), data if is_question else redacted(data))


def is_too_deep(value: object) -> bool:
    """Check whether JSON is nested too deeply to go through it."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for outer in level for inner in _inner(outer) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def missing(names: Sequence[str], upstream: Upstream) -> NotReadyError:
    """Return the error for variables that a server needs."""
    many = ", ".join(f"`{name}`" for name in names)
    verb = "is" if len(names) == 1 else "are"
    return NotReadyError(
        f"needs {many}, which {verb} not set",
        hint=f"set {names[0]} in your environment, or give it a default in {upstream.source}",
    )


def secrets_of(expanded: Expanded, launch: Launch, environment: Mapping[str, str]) -> frozenset[str]:
    """Return what must never be shown: inserted values, and those of the entry and the environment."""
    return frozenset(_secrets_of(expanded, launch, environment))


def _secrets_of(expanded: Expanded, launch: Launch, environment: Mapping[str, str]) -> Iterator[str]:
    yield from expanded.values
    for given in (launch, expanded.launch):
        yield from given.env.values()
        for value in given.headers.values():
            yield value
            yield value.rpartition(" ")[2]  # without its scheme, such as `Bearer`
        yield from url_secrets(given.url)
        for word in words_of(given.args):
            if may_be_secret(word.value, word.name):
                yield word.value
            yield from secrets_in(word.value, word.name)
            if "://" in word.value:
                yield from url_secrets(word.value)
    yield from (value for name, value in environment.items() if may_be_secret(value, name))


def url_secrets(url: str) -> Iterator[str]:
    """List the parts of a URL that may be secret."""
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


def output_redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return what hides values in what a program printed, also encoded as programs print them."""
    parts = {part for value in secrets for part in (value, *value.splitlines())}
    return redactor(parts | {form for part in parts if len(part) >= _SHORTEST for form in _forms(part)})


def _forms(value: str) -> Iterator[str]:
    """List a value in hexadecimal, base64, URLs and JSON, and in upper and lower case."""
    raw = value.encode("utf-8", "surrogateescape")
    yield from (value.upper(), value.lower(), json.dumps(value)[1:-1])
    yield from (raw.hex(), raw.hex().upper(), raw.hex(" "), raw.hex(":"))
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield from (encoded, re.sub("%..", lambda match: match[0].lower(), encoded))
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):  # `user:VALUE` may start at any of three places in a group
            after = -(before + len(raw)) % 3
            groups = encode(b"\0" * before + raw + b"\0" * after).decode()
            # The first and the last characters also depend on the bytes around the value.
            yield groups[(0, 2, 3)[before] : len(groups) - (0, 2, 3)[after]]


def _reason(error: BaseException, upstream: Upstream, remains: Remains) -> tuple[str, str | None]:
    look = f"look at its entry in {upstream.source}"
    match error:
        case UpstreamError():
            return error.reason, error.hint
        case ProtocolError():
            return str(error), None
        case TimeoutError():
            return f"did not answer within {upstream.deadline:g} s", "try the command of its entry by hand"
        case RefusedError():
            return str(error), _refusal_hint(error, upstream)
        case UnreachableError():
            return f"cannot be reached: {error}", f"check that it runs, and its `url` in {upstream.source}"
        case LostError():
            return _lost(error, upstream, remains, look)
        case JsonRpcError():
            return f"answers with an error: {error}", None
        case FileNotFoundError() | NotADirectoryError():
            return (
                "cannot be started: its command was not found",
                f"install it, or correct its entry in {upstream.source}",
            )
        case OSError():
            return f"cannot be started: {(error.strerror or 'it cannot be started').lower()}", look
        case ValueError():
            part = "URL or headers" if upstream.launch.is_remote else "command, arguments or variables"
            return f"its {part} contain a character that cannot be sent", look
        case _:
            return f"failed: {type(error).__name__}", look


def _lost(error: LostError, upstream: Upstream, remains: Remains, look: str) -> tuple[str, str]:
    """Explain the end of a process; in a sandbox, it may miss what the sandbox does not show."""
    last = remains.output.strip().rpartition("\n")[2]
    if upstream.sandbox is not None and last.startswith(_BUBBLEWRAP):
        return f"{IN_ITS_SANDBOX}{last.removeprefix(_BUBBLEWRAP)}", look
    code = "" if remains.code is None else f" (exit code {remains.code})"
    if remains.code is not None and remains.code < 0:
        code = f" (signal {-remains.code})"
    reason = f"{str(error) or 'ended before it answered'}{code}"
    if upstream.sandbox is None:
        return reason, look
    network = "" if upstream.sandbox.network else "; to install a package, it needs `network = true`"
    return reason, f"it runs in a sandbox: allow what it needs{network}"


def _refusal_hint(error: RefusedError, upstream: Upstream) -> str:
    login = _login(upstream)
    if error.scope is not None:
        return f"run `{login} --scope {shlex.quote(error.scope)}`"
    if error.status == 401:
        return f"run `{login}`, or add its headers in {upstream.source}"
    if error.status == 403:
        return f"run `{login}` as someone who may, or see its entry in {upstream.source}"
    return f"check that it runs, and its `url` in {upstream.source}"


def _login(upstream: Upstream) -> str:
    return shlex.join(("remit", "login", upstream.label))  # others choose the label


def _next_step(error: BaseException, upstream: Upstream) -> str | None:
    """Return what a model can do: have the user sign in, or wait."""
    if isinstance(error, UpstreamError):
        return error.next_step
    if isinstance(error, RefusedError) and (error.scope is not None or error.status in (401, 403)):
        return f"ask the user to sign in with `{_login(upstream)}`, then call it again"
    return WAIT if isinstance(error, TimeoutError | LostError) else None
