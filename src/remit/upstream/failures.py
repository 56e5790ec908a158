"""Explains why a server did not answer, in our own words and without secrets."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import cast
from urllib.parse import urlsplit

from remit.decision.declared_launch import Launch, Transport
from remit.protocol.json_rpc import ErrorCode, JsonRpcError
from remit.text.redaction import output_redactor, redact_output
from remit.text.secrets import may_be_secret, secrets_in, words_of
from remit.text.untrusted_text import one_line
from remit.upstream.launch.variable_expansion import Expanded
from remit.upstream.messaging.messages import LostError, ProtocolError, RefusedError, UnreachableError
from remit.upstream.tool_reader import is_too_deep
from remit.upstream.transports.process import ProcessRecord
from remit.upstream.upstream_model import IN_ITS_SANDBOX, Failure, Upstream

MAX_LINES = 5  # of the server's last output
MAX_REASON = 500  # characters
_BUBBLEWRAP = "bwrap: "  # its messages on stderr
WAIT = "wait a moment, then call it again"


def explain(
    error: BaseException, record: ProcessRecord, upstream: Upstream, hidden: Iterable[str]
) -> Failure:
    """Explain an error, and suggest what to do."""
    values = frozenset(hidden)
    reason, hint = _reason(_leaf(error), record, upstream)
    return Failure(
        reason=one_line(redact_output(reason, values), MAX_REASON),
        hint=hint,
        next_step=_next_step(_leaf(error), upstream),
        output=last_output(record, values)[-MAX_LINES:],
    )


def last_output(record: ProcessRecord, hidden: Iterable[str]) -> list[str]:
    """Return the last lines that a process wrote to stderr, without secrets."""
    text = "" if record.process is None else redact_output(record.process.tail.text, hidden)
    return [line.strip() for line in text.splitlines() if line.strip()]


def redacted_error(error: JsonRpcError, hidden: Iterable[str]) -> JsonRpcError:
    """Return a server's error without secrets.

    The data of a required URL elicitation stays: it is a question to the user, and its address must work.
    """
    redact = output_redactor(hidden)

    def redacted(value: object) -> object:
        match value:
            case str():
                return redact(value)
            case list():
                return [redacted(each) for each in cast("list[object]", value)]
            case dict():
                fields = cast("dict[str, object]", value)
                return {redact(key): redacted(each) for key, each in fields.items()}
            case _:
                return value

    data = None if is_too_deep(error.data) else error.data
    is_question = error.code == ErrorCode.URL_ELICITATION_REQUIRED
    return JsonRpcError(error.code, redact(str(error)), data if is_question else redacted(data))


def missing(names: Sequence[str], upstream: Upstream, known: Collection[str] = ()) -> Failure:
    """Describe the variables that a server needs but that are not set, or only by its repository."""
    if theirs := [name for name in names if name in known]:
        return Failure(
            reason=f"needs `{theirs[0]}`, which a file of the repository sets",
            hint=f"write the value into {upstream.source}: trust in the entry does not cover variables",
        )
    many = ", ".join(f"`{name}`" for name in names)
    verb = "is" if len(names) == 1 else "are"
    return Failure(
        reason=f"needs {many}, which {verb} not set",
        hint=f"set {names[0]} in your environment, or give it a default in {upstream.source}",
    )


def not_signed_in(upstream: Upstream, principal: str | None) -> Failure:
    """Describe that a caller has no credential for a server that needs the caller's own."""
    if principal is None:
        return Failure(
            reason="is used with the credential of its caller, and this caller has no name",
            hint="connect through `remit serve --http` with a token, which names the caller",
        )
    return Failure(
        reason="needs your own credential, and you are not signed in to it",
        hint=f"run `{credential_command(upstream, principal)}`",
        next_step=f"ask the user to sign in to `{upstream.label}`, then call it again",
    )


def secrets_of(expanded: Expanded, launch: Launch, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets: expanded values, and those in the entry and the environment."""
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
    """Yield the secrets in a command's arguments."""
    for word in words_of(words):
        if may_be_secret(word.value, word.name):
            yield word.value
        yield from secrets_in(word.value, word.name)
        if "://" in word.value:
            yield from url_secrets(word.value)


def url_secrets(url: str) -> Iterator[str]:
    """Yield the secret parts of a URL."""
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


def _leaf(error: BaseException) -> BaseException:
    """Find the first single error in a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _reason(error: BaseException, record: ProcessRecord, upstream: Upstream) -> tuple[str, str | None]:
    match error:
        case ProtocolError():
            return str(error), None
        case TimeoutError():
            return (
                f"did not answer within {upstream.deadline:g} s",
                "allow more time with `--timeout`, or try its entry by hand",
            )
        case RefusedError():
            return str(error), _refusal_hint(error, upstream)
        case UnreachableError():
            return (
                f"cannot be reached: {error}",
                f"check that it runs, and its `url` in {upstream.source}",
            )
        case LostError():
            return _lost(error, record, upstream)
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
                f"its {part} contain a character that cannot be sent",
                f"look at its entry in {upstream.source}",
            )
        case _:
            return f"failed: {type(error).__name__}", f"look at its entry in {upstream.source}"


def _lost(error: LostError, record: ProcessRecord, upstream: Upstream) -> tuple[str, str]:
    """Explain the end of a process; in a sandbox, it may miss what the sandbox does not show."""
    sandbox = None if upstream.permit is None else upstream.permit.sandbox
    reason, hint = (
        f"{str(error) or 'ended before it answered'}{_end(record)}",
        f"look at its entry in {upstream.source}",
    )
    if sandbox is None:
        return reason, hint
    last = "" if record.process is None else record.process.tail.text.strip().rpartition("\n")[2]
    if last.startswith(_BUBBLEWRAP):
        return f"{IN_ITS_SANDBOX}{last.removeprefix(_BUBBLEWRAP)}", hint
    return reason, f"it runs in a sandbox ({sandbox}): allow what it needs, or {hint}"


def _refusal_hint(error: RefusedError, upstream: Upstream) -> str:
    status = error.status
    if upstream.is_per_principal and (error.scope is not None or status in (401, 403)):
        return f"set another credential: `{credential_command(upstream, 'NAME')}`"
    if error.scope is not None:
        return f"run `{_login(upstream)} --scope {shlex.quote(error.scope)}`"
    if status == 401:
        return f"run `{_login(upstream)}`, or add its headers in {upstream.source}"
    if status == 403:
        return f"run `{_login(upstream)}` as someone who may, or see its entry in {upstream.source}"
    return f"check that it runs, and its `url` in {upstream.source}"


def _login(upstream: Upstream) -> str:
    return shlex.join(("remit", "login", upstream.label))  # others choose the label


def credential_command(upstream: Upstream, principal: str) -> str:
    """Return the command that sets a credential for a server."""
    return shlex.join(("remit", "credential", "set", upstream.label, "--for", principal))


def _next_step(error: BaseException, upstream: Upstream) -> str | None:
    """Return what a model can do: have the user sign in, or wait."""
    if isinstance(error, RefusedError) and (error.scope is not None or error.status in (401, 403)):
        if upstream.is_per_principal:
            return f"ask the user for a new credential for `{upstream.label}`, then call it again"
        return f"ask the user to sign in with `{_login(upstream)}`, then call it again"
    return WAIT if isinstance(error, TimeoutError | LostError) else None


def _end(record: ProcessRecord) -> str:
    process = record.process
    if process is None or process.was_forced or process.exit_code is None:
        return ""
    code = process.exit_code
    return f" (exit code {code})" if code >= 0 else f" (signal {-code})"
