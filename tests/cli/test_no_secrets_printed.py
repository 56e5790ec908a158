"""Secrets, wherever a configuration can hold one, are in no output, no answer and no file of Remit's."""

import json
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from remit.catalog.summary import summarize
from remit.cli.output import json_output
from remit.files.bounded_reader import FileError
from remit.files.formats import parse_json, parse_jsonc, parse_toml, parse_yaml
from support.sandbox import Sandbox

PART = 12  # characters of a secret that give it away


class Planted:
    """Secrets, each told from all others in every twelve characters."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}

    def at(self, place: str) -> str:
        return self.secrets.setdefault(place, f"sk-{sha256(place.encode()).hexdigest()[:32]}")

    def found_in(self, text: str | bytes) -> list[str]:
        seen = text.encode() if isinstance(text, str) else text
        places = {part: place for place, secret in self.secrets.items() for part in _parts(secret.encode())}
        candidates = {part for run in _SECRET_LIKE.findall(seen) for part in _parts(run)}
        return sorted({places[part] for part in candidates & places.keys()})


_SECRET_LIKE = re.compile(rb"[sk0-9a-f-]{%d,}" % PART)  # the characters of a secret


def _parts(secret: bytes) -> list[bytes]:
    return [secret[at : at + PART] for at in range(len(secret) - PART + 1)]


def entries(planted: Planted, file: str) -> dict[str, dict[str, object]]:
    """Server entries, good and bad, with a secret in every place that can hold one."""

    def at(place: str) -> str:
        return planted.at(f"{file}: {place}")

    return {
        "process": {
            "command": "run",
            "args": [f"--key={at('arg')}", at("arg alone")],
            "env": {"K": at("env")},
        },
        "remote": {
            "type": "http",
            "url": f"https://u:{at('userinfo')}@mcp.test/{at('path')}?k={at('query')}#{at('fragment')}",
            "headers": {"Authorization": f"Bearer {at('header')}"},
        },
        "variables": {"type": "sse", "url": "https://mcp.test/${TOKEN}", "headers": {"X": "${TOKEN:-none}"}},
        "command": {"command": f"TOKEN={at('command')} run"},
        "env-is-text": {"command": "run", "env": at("env as text")},
        "env-is-list": {"command": "run", "env": [at("env as list")]},
        "env-holds-list": {"command": "run", "env": {"K": [at("env value as list")]}},
        "env-key": {"command": "run", "env": {f"K={at('env key')}": None}},
        "command-is-number": {"command": 5, "args": [at("args of a bad command")]},
        "command-is-list": {"command": [at("command as list")]},
        "args-is-text": {"command": "run", "args": at("args as text")},
        "args-is-object": {"command": "run", "args": {at("args as key"): at("args as value")}},
        "args-hold-object": {"command": "run", "args": [{"key": at("arg as object")}]},
        "url-is-list": {"type": "http", "url": [at("url as list")]},
        "url-alone": {"url": f"https://{at('url without type')}@mcp.test"},
        "type": {"type": at("type"), "command": "run"},
        "headers-is-text": {"type": "http", "url": "https://mcp.test", "headers": at("headers as text")},
        "headers-key": {"type": "http", "url": "https://mcp.test", "headers": {at("header key"): 5}},
        "unknown-field": {"command": "run", "apiKey": at("unknown field")},
        "not-an-object": at("entry as text"),  # pyright: ignore[reportReturnType] - a malformed entry
    }


def policy(planted: Planted, file: str) -> dict[str, object]:
    """Settings with secrets in matchers, and around them."""

    def at(place: str) -> str:
        return planted.at(f"{file}: {place}")

    matchers = [
        {"serverUrl": f"https://u:{at('pattern userinfo')}@mcp.test/*"},
        {"serverUrl": f"https://mcp.test/{at('pattern path')}?k={at('pattern query')}*"},
        {"serverUrl": [at("pattern as list")]},
        {"serverCommand": ["run", at("command word")]},
        {"serverCommand": at("command as text")},
        {"serverName": {"name": at("name as object")}},
        {"serverName": "a", "serverUrl": at("two matchers")},
        at("matcher as text"),
    ]
    return {
        "enableAllProjectMcpServers": True,
        "env": {"API_KEY": at("env")},
        "apiKeyHelper": f"echo {at('helper')}",
        "deniedMcpServers": matchers,
        "enabledPlugins": {"quill@orchard": True},
        "disabledMcpjsonServers": {"not": at("rejections as object")},
        "extraKnownMarketplaces": {"x": {"source": {"source": "url", "url": at("marketplace")}}},
    }


@pytest.fixture
def planted(sandbox: Sandbox) -> Planted:
    """A machine with a secret in every place of every file, and in the environment."""
    planted, shop = Planted(), sandbox.project("shop")
    plugins, market = sandbox.home / ".claude/plugins", sandbox.root / "market"
    sandbox.variables.update({"TOKEN": planted.at("variable"), "K": planted.at("another variable")})
    state = {
        "primaryApiKey": planted.at("state: key"),
        "mcpServers": entries(planted, "state"),
        "projects": {
            str(shop): {
                "mcpServers": entries(planted, "local"),
                "disabledMcpServers": planted.at("state: disabled as text"),
                "enabledMcpjsonServers": [{"name": planted.at("state: approval as object")}],
                "history": [planted.at("state: history")],
            }
        },
    }
    sandbox.write(sandbox.home / ".claude.json", state)
    sandbox.write(shop / ".mcp.json", {"mcpServers": entries(planted, "project")})
    sandbox.write(sandbox.root / "code/.mcp.json", planted.at("above: text"))
    sandbox.write(sandbox.root / "session.json", {"mcpServers": entries(planted, "session")})
    good = policy(planted, "user")
    del good["disabledMcpjsonServers"]
    sandbox.write(sandbox.home / ".claude/settings.json", good)
    sandbox.write(shop / ".claude/settings.json", policy(planted, "project settings"))
    sandbox.write(shop / ".claude/settings.local.json", f'{{"env": {{"K": "{planted.at("local settings")}"')
    known = {
        "source": {"source": "directory", "url": f"https://{planted.at('marketplace url')}@git.test"},
        "installLocation": str(market),
    }
    sandbox.write(plugins / "known_marketplaces.json", {"orchard": known})
    catalogue = {"plugins": [{"name": "quill", "source": "./quill", "token": planted.at("catalogue")}]}
    sandbox.write(market / ".claude-plugin/marketplace.json", catalogue)
    manifest = {"name": "quill", "mcpServers": {"ink": entries(planted, "manifest")["process"]}}
    sandbox.write(market / "quill/.claude-plugin/plugin.json", manifest)
    sandbox.write(market / "quill/.mcp.json", {"mcpServers": entries(planted, "plugin")})
    return planted


def commands(sandbox: Sandbox) -> list[tuple[str, ...]]:
    asked = [("scan",), ("tools",), ("tools", "--all"), ("context",), ("why", "remote"), ("why", "process")]
    asked += [("clients",), ("trust",), ("doctor",)]
    asked += [("why", "quill@orchard"), ("why", "env-is-text"), ("why", "mcp__plugin_quill_remote__*")]
    session = ("--mcp-config", str(sandbox.root / "session.json"))
    return [*asked, *((*words, "--json") for words in asked), ("tools", "--all", "--headless", *session)]


# What a repository would run or reach is shown whole by `trust`: anything hidden could be what runs.
STARTED = ("arg", "arg alone", "command", "userinfo", "path", "query", "fragment", "url without type")


@pytest.mark.long
def test_secrets_are_in_no_output_of_any_command(sandbox: Sandbox, planted: Planted) -> None:
    shown = {f"project: {place}" for place in STARTED}
    for words in commands(sandbox):
        finished = sandbox.remit(*words, cwd=sandbox.root / "code/shop")
        assert finished.returncode in (0, 1), words
        found = planted.found_in(finished.stdout + finished.stderr)
        assert [place for place in found if words[0] != "trust" or place not in shown] == [], words


def test_what_would_be_started_is_shown_whole_and_the_users_secrets_with_their_length(
    sandbox: Sandbox, planted: Planted
) -> None:
    shop = sandbox.root / "code/shop"
    mine = planted.at("variable")
    sandbox.write(shop / ".mcp.json", {"mcpServers": {**entries(planted, "project"), "x": {"command": mine}}})
    told = sandbox.remit("trust", cwd=shop).stdout
    assert f"runs    run --key={planted.at('project: arg')} {planted.at('project: arg alone')}" in told
    assert f"runs    'TOKEN={planted.at('project: command')} run'" in told
    assert f"reaches https://u:{planted.at('project: userinfo')}@mcp.test/" in told
    assert "runs    '***(35 characters)'" in told


def stored_bytes(sandbox: Sandbox) -> bytes:
    """All that Remit keeps, and all that the database's log still has of earlier states."""
    return b"".join(file.read_bytes() for file in sorted(sandbox.database.parent.iterdir()))


@pytest.mark.long
def test_secrets_are_in_no_answer_and_not_in_the_database_or_its_log(
    sandbox: Sandbox, planted: Planted
) -> None:
    with sandbox.registry() as registry:
        directory = str(sandbox.root / "code/shop")
        for session in ([], [str(sandbox.root / "session.json")]):
            here = registry.at(directory, mcp_configs=session)
            scan = registry.scan(here)
            listed = registry.tools(here)
            explained = [registry.explain(item.tool.name, here) for item in listed]
            answers = [scan, listed, explained, registry.problems(here), registry.session_context(here)]
            assert planted.found_in(repr(answers)) == []
            summary = summarize(listed, here)
            said = [json_output.scan(scan, summary, here), json_output.listing(listed, summary, here)]
            assert planted.found_in(json.dumps(said)) == []
        assert len(listed) > 20
        assert len(registry.problems(registry.at(directory))) > 20
        assert (sandbox.database.parent / "remit.db-wal").stat().st_size > 0
        assert planted.found_in(stored_bytes(sandbox)) == []


@pytest.mark.long
def test_secrets_do_not_appear_when_their_files_break_or_go(sandbox: Sandbox, planted: Planted) -> None:
    shop = sandbox.root / "code/shop"
    files = [path for path in sandbox.root.rglob("*.json") if path.is_file()]
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        registry.scan(here)
        for damage in (_cut_in_half, _remove):
            for file in files:
                damage(file)
                answers = [registry.scan(here), registry.tools(here), registry.session_context(here)]
                assert planted.found_in(repr(answers)) == [], file
        assert planted.found_in(stored_bytes(sandbox)) == []


def _cut_in_half(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def _remove(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_json, '{"k": "SECRET'),
        (parse_json, '{"k": SECRET}'),
        (parse_jsonc, '{"k": SECRET /* SECRET'),
        (parse_toml, "k = SECRET"),
        (parse_toml, '"SECRET" = 1\n"SECRET" = 2'),
        (parse_toml, '["SECRET"]\n["SECRET"]'),
        (parse_toml, '["SECRET".a]\nb=1\n[["SECRET"]]'),
        (parse_toml, 'a = {"SECRET" = 1, "SECRET" = 2}'),
        (parse_toml, 'k = "SECRET'),
        (parse_yaml, "k: 'SECRET"),
        (parse_yaml, "k: !SECRET!x y"),
        (parse_yaml, "%YAML SECRET\n---\n"),
        (parse_yaml, "%TAG !SECRET! SECRET\n%TAG !SECRET! SECRET\n--- x"),
        (parse_yaml, "a: [SECRET: {"),
        (parse_yaml, "SECRET: SECRET: SECRET"),
    ],
)
def test_what_cannot_be_parsed_is_not_quoted(parse: Callable[[str], object], text: str) -> None:
    planted = Planted()
    with pytest.raises(FileError) as raised:
        parse(text.replace("SECRET", planted.at("here")))
    assert planted.found_in(f"{raised.value.reason} {raised.value.place}") == []


def test_the_test_would_see_a_part_of_a_secret(planted: Planted) -> None:
    place, secret = next(iter(planted.secrets.items()))
    assert planted.found_in(f"... {secret[5:17]} ...") == [place]


def test_every_place_has_a_secret_of_its_own(planted: Planted) -> None:
    parts = [part for secret in planted.secrets.values() for part in set(_parts(secret.encode()))]
    assert len(parts) == len(set(parts)) > 2_000
