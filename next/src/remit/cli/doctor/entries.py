"""Checks of what files say: mistakes, ignored servers, secrets, names, and servers that are there twice."""

import json
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from remit.cli.doctor.findings import ClientSetup, Finding, Severity, about, for_owner
from remit.config import Finding as RuleFinding
from remit.decision import (
    COULD_RUN,
    MCP,
    OWN,
    Declaration,
    Kind,
    Launch,
    Scope,
    Status,
    VariableSyntax,
    is_covered,
    normalise,
    program,
    shorten,
)
from remit.secrets import names_a_secret, secrets_in, words_of
from remit.store import Problem

LONGEST_NAME = 64  # characters of a tool's full name that model APIs commonly allow
_ROOM = 25  # characters for a tool's own name; enough for four of five real ones
_MOST = 10  # settings of a file
_WRITTEN = {  # clearest first
    VariableSyntax.DEFAULTS: "${{{}}}",
    VariableSyntax.BRACES: "${{{}}}",
    VariableSyntax.DOLLAR_ENV: "${{env:{}}}",
    VariableSyntax.BRACE_ENV: "{{env:{}}}",
    VariableSyntax.SECRETS: "${{{{ secrets.{} }}}}",
}
_FLAGS = {Scope.GLOBAL: "user", Scope.PROJECT: "project", Scope.LOCAL: "local"}


def broken_files(setup: ClientSetup) -> Iterator[Finding]:
    """Find unreadable files, and entries that the client skips."""
    for problem in setup.reading.problems:
        yield _mistake(problem, Severity.ERROR, "file")


def configuration_mistakes(
    problems: Iterable[Problem], unmatched: Iterable[RuleFinding]
) -> Iterator[Finding]:
    """Find mistakes in Remit's own files, and rules that match nothing and look misspelled."""
    for problem in problems:
        yield _mistake(problem, Severity.ERROR, "configuration")
    for item in unmatched:
        if item.is_warning:  # a note is often about a server that was not asked yet
            yield _mistake(item.problem, Severity.WARNING, "configuration")


def _mistake(problem: Problem, severity: Severity, check: str) -> Finding:
    reason, fix = problem.reason, "correct it, or remove it"
    before, semicolon, after = reason.rpartition("; ")
    if reason.endswith(")") and " (" in reason:
        reason, _, hint = reason[:-1].rpartition(" (")
        fix = hint.replace("expected one of", "use one of")
    elif semicolon and after.startswith(("write ", "rename ", "add ", "quote ", "run ", "remove ")):
        reason, fix = before, after
    return Finding(
        severity=severity, check=check, source=problem.source, place=problem.place, reason=reason, fix=fix
    )


def ignored_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers in files where the client reads none, with the file that counts instead."""
    sources = {item.declaration.server: item.declaration.source for item in setup.servers}
    for item, instead in setup.reading.ignored:
        counting = sources.get(item.server)
        also = "" if counting is None else f"; `{item.server}` of {shorten(counting, setup.context)} counts"
        yield about(
            item,
            Severity.WARNING,
            "ignored",
            place="mcpServers",
            reason=f"does nothing: {item.client} reads no servers from this file{also}",
            fix=add_command(item) or f"move it to {shorten(instead, setup.context)}",
        )


def missing_servers(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that agents list, and that no file declares."""
    for item in setup.reading.facts.missing:
        yield Finding(
            severity=Severity.WARNING,
            check="agent",
            source=item.source,
            subject=item.server,
            reason=f"the agent `{item.agent}` lists it, and no file declares it",
            fix="correct the name there, or declare the server",
        )


def exposed_secrets(setup: ClientSetup) -> Iterator[Finding]:
    """Find secrets in entries, active or not."""
    from remit.files import is_tracked

    for item in (resolved.declaration for resolved in setup.servers):
        for place, name, text in launch_values(item.launch):
            if any(secrets_in(text, name)):
                yield _exposed(item, place, name, text, is_tracked=is_tracked(item.source))


def _exposed(item: Declaration, place: str, name: str, text: str, *, is_tracked: bool) -> Finding:
    variable = _variable(item, place, name)
    syntaxes = () if item.launch is None else item.launch.syntaxes
    written = next((form for syntax, form in _WRITTEN.items() if syntax in syntaxes), None)
    if written is None:
        fix = f"remove it, and set `{variable}` where the client is started: this file cannot use variables"
    else:
        reference = _without_secrets(text, name, written.format(variable))
        fix = f"write `{reference}` instead, and set the variable"
    reason = "a secret in plain text"
    if is_tracked:
        reason = "a secret in plain text, in a file that git shares"
        fix = f"revoke it, because the history keeps it; then {fix}"
    elif item.scope is Scope.PROJECT:
        reason = "a secret in plain text, in a file that is meant to be shared"
    severity = Severity.ERROR if is_tracked else Severity.WARNING
    return about(item, severity, "secret", place=place, reason=reason, fix=for_owner(item, fix))


def launch_values(launch: Launch | None) -> Iterator[tuple[str, str, str]]:
    """Yield the values in an entry: place, the name of its variable, header or option, and text."""
    if launch is None:
        return
    yield ("url", "", launch.url) if launch.is_remote else ("command", "", launch.command)
    for at, word in enumerate(words_of(launch.args)):
        yield f"args[{at}]", word.name, word.value
    for name, text in launch.env.items():
        yield f"env.{name}", name, text
    for name, text in launch.headers.items():
        yield f"headers.{name}", name, text


def _variable(item: Declaration, place: str, name: str) -> str:
    """Suggest a variable: the entry's own, else one named after the server."""
    if place.startswith("env.") and name.isidentifier():
        return name
    return f"{normalise(item.server or '').upper().replace('-', '_')}_TOKEN"


def _without_secrets(text: str, name: str, reference: str) -> str:
    """Replace the secrets in a value with a reference to a variable, which the client expands."""
    if names_a_secret(name) and "$" not in text:
        scheme, space, _ = text.rpartition(" ")  # such as `Bearer`
        return scheme + space + reference
    for secret in sorted(secrets_in(text, name), key=len, reverse=True):
        text = text.replace(secret, reference)
    return text


def add_command(item: Declaration) -> str | None:
    """Return the command that adds a server to Claude Code; variables stand for its secrets."""
    if item.client != "claude-code" or item.launch is None or item.scope not in _FLAGS:
        return None
    launch, variables, shown = item.launch, dict[str, None](), dict[str, str]()
    for place, name, text in launch_values(launch):
        variable = _variable(item, place, name)
        shown[place] = _without_secrets(text, name, f"${{{variable}}}")
        if shown[place] != text:
            variables[variable] = None
    prefixes = [word.prefix for word in words_of(launch.args)]
    parts: dict[str, object] = {
        "command": shown.get("command"),
        "args": [prefix + shown[f"args[{at}]"] for at, prefix in enumerate(prefixes)],
        "url": shown.get("url"),
        "env": {name: shown[f"env.{name}"] for name in launch.env},
        "headers": {name: shown[f"headers.{name}"] for name in launch.headers},
        "headersHelper": launch.headers_helper,
    }
    entry = {"type": str(launch.transport), **{name: part for name, part in parts.items() if part}}
    words = ("claude", "mcp", "add-json", "--scope", _FLAGS[item.scope], item.server or "")
    command = shlex.join([*words, json.dumps(entry, ensure_ascii=False)])
    named = " and ".join(f"`{name}`" for name in variables)
    return f"{f'set {named} in your environment, then ' if named else ''}run `{command}`"


def colliding_names(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose names become the same prefix."""
    groups: defaultdict[str, list[Declaration]] = defaultdict(list)
    for item in setup.started:
        groups[item.name].append(item)
    for name, (first, *others) in groups.items():
        for item in others:
            yield about(
                item,
                Severity.ERROR,
                "name-collision",
                reason=f"its tools are named `{name}`, as are those of `{first.server}`: "
                "a call may reach either",
                fix=for_owner(item, "rename one of the two, so they differ in letters, digits, `-` or `_`"),
            )


def long_names(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose tool names exceed the limit, or probably will."""
    for item in setup.started:
        names = [
            tool.name
            for tool in setup.tools
            if tool.kind is Kind.MCP_TOOL and tool.status is not Status.STALE
            if is_covered(tool.name, item.name)
        ]
        direct = [name for name in names if len(name) > LONGEST_NAME]
        served = [OWN + name.removeprefix(MCP) for name in names if name not in direct]
        served = [name for name in served if len(name) > LONGEST_NAME]
        room = LONGEST_NAME - len(item.name.removesuffix("*"))
        fix = "give the server a shorter name"
        if direct or (not names and room < _ROOM):
            left = f"leaves {room}" if room > 0 else "leaves none"
            cramped = f"its prefix {left} of the {LONGEST_NAME} characters that a tool's name may have"
            reason = _over(direct, "") if direct else cramped
            yield about(item, Severity.WARNING, "long-name", reason=reason, fix=for_owner(item, fix))
        elif served:
            fix = for_owner(item, f"{fix}; otherwise Remit shortens the tools'")
            reason = _over(served, " when Remit serves it")
            yield about(item, Severity.NOTE, "long-name", reason=reason, fix=fix)


def _over(names: Sequence[str], when: str) -> str:
    longest = max(names, key=len)
    others = f", and {len(names) - 1} more" if len(names) > 1 else ""
    return f"`{longest}`{when} has {len(longest)} characters{others}; many models allow {LONGEST_NAME}"


def conflicts(setup: ClientSetup) -> Iterator[Finding]:
    """Find declarations shadowed by one of the same name with another command or URL."""
    by_place = {
        (item.declaration.source, item.declaration.server): item.declaration for item in setup.servers
    }
    for item, winner in setup.servers:
        if winner is None or item.status not in COULD_RUN or item.status is Status.ITSELF:
            continue
        rival = by_place.get((winner.source, item.server))
        if rival is not None and rival.plugin == item.plugin and rival.endpoint != item.endpoint:
            other = f"the {rival.scope} declaration of this name in {shorten(rival.source, setup.context)}"
            reason = f"not used: {other} wins, which is another server"
            if item.status is Status.PENDING:
                reason = f"waits for approval; until then {other} is used, which is another server"
            fix = "give one of the two another name, or remove one"
            yield about(item, Severity.WARNING, "conflict", reason=reason, fix=fix)


def duplicates(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers that are active under several names, so their tools are listed twice."""
    first: dict[object, Declaration] = {}
    for item, launch in setup.launches:
        original = first.setdefault(_identity(item, launch), item)
        if original is not item:
            place = f"`{original.server}` ({original.scope}, {shorten(original.source, setup.context)})"
            reason = (
                f"the same server as {place}: each of its tools is listed twice and costs its tokens twice"
            )
            yield about(item, Severity.WARNING, "duplicate", reason=reason, fix="remove one of the two")


def _identity(item: Declaration, launch: Launch) -> object:
    """Return the identity of a server; other variables or headers may mean another account."""
    if item.status is Status.ITSELF:
        return "remit"
    details = (frozenset(launch.env.items()), frozenset(launch.headers.items()), launch.cwd)
    return (launch.endpoint, *details)


def project_code(setup: ClientSetup) -> Iterator[Finding]:
    """Find files of a repository that make the client run code, each once."""
    for source in dict.fromkeys(item.source for item in setup.reading.executed):
        settings = list(dict.fromkeys(item for item in setup.reading.executed if item.source == source))
        named = [f"`{item.key}`{f' runs `{item.command}`' if item.command else ''}" for item in settings]
        more = [f"and {len(named) - _MOST} more"] if len(named) > _MOST else []
        listed = ", ".join([*named[:_MOST], *more])
        yield Finding(
            severity=Severity.WARNING,
            check="code",
            source=source,
            reason=f"the client runs code that this file chooses: {listed}; Remit cannot prevent that",
            fix="check what runs before you start the client here, and remove what you do not trust",
        )


def unpinned_packages(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose code may change without review, because their package has no fixed version."""
    for item, shadowed_by in setup.servers:
        runs = shadowed_by is None and item.status in COULD_RUN and item.status is not Status.ITSELF
        package = _unpinned(item.launch) if runs and item.launch is not None else None
        if package is not None:
            name, sign = package
            yield about(
                item,
                Severity.WARNING,
                "unpinned",
                reason=f"`{name}` has no fixed version: what runs tomorrow is not what was reviewed",
                fix=for_owner(item, f"write `{name}{sign}VERSION` with the version that you reviewed"),
            )


_RUNNERS = {"npx": "@", "bunx": "@", "uvx": "=="}  # how each writes a version


def _unpinned(launch: Launch) -> tuple[str, str] | None:
    """Return a package that a plain command fetches in its newest version, and the sign before a version."""
    sign = _RUNNERS.get(program(launch.command))
    package = next((word for word in launch.args if not word.startswith("-")), "")
    is_plain = package and not any(char in package for char in "$:{ ") and package[0] not in "./~"
    has_version = "@" in package[1:] or "=" in package
    if sign is None or not is_plain or (has_version and not package.endswith("@latest")):
        return None
    return package.removesuffix("@latest"), sign
