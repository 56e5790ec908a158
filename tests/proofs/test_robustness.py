"""Configuration files that are broken in every way: no crash, no wait, and nothing that was known is lost.

Valid files of every kind are damaged, in their bytes and in their structure, one at a time, on a machine that
has them all. What a scan finds in the other files stays as it was; what a file said before it broke still
holds; and when it is repaired, everything is as it was at first. A new kind of file is one more entry of
`KINDS`, a new format one more of `FORMATS`.
"""

import json
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from remit.bootstrap import open_states
from remit.catalog.summary import summarize
from remit.cli.output import json_output
from remit.decision.decide import ToolDecision
from remit.decision.declarations import ClientReading, Declaration
from remit.decision.kinds import ToolStatus
from remit.decision.permissions.client_facts import CLIENTS
from remit.files.bounded_reader import FileError, Machine
from remit.files.formats import parse_json, parse_jsonc, parse_toml, parse_yaml
from remit.registry import Registry
from remit.scanning.client_files import ClientFiles
from remit.search.engine import SearchEngine
from remit.store.open_store import open_store
from support.builders import CLIENT
from support.databases import run_sql

CASES = int(os.environ.get("REMIT_PROOF_EXAMPLES", "300")) // 10
SEED = os.environ.get("REMIT_PROOF_SEED", "7")
PARTS = 2  # run side by side, each with damage of its own
PATIENCE = 1.0  # seconds of this process's own time; what hangs takes far longer, also on a slow day
LARGEST = 120_000  # bytes: no configuration that people write is longer
CASES_PER_STORE = 40  # damaged files declare new names, which a store never forgets


class ConfigKind(NamedTuple):
    """A kind of file: where it lies, a valid one, and the files that are found only through it."""

    path: str
    content: object  # text, or what JSON is written of
    leads_to: tuple[str, ...] = ()


PLUGINS = "{home}/.claude/plugins"
QUILL = f"{PLUGINS}/cache/orchard/quill/1.0.0"
GEAR = f"{PLUGINS}/marketplaces/shed/gear"
OF_PLUGINS = ("quill manifest", "quill servers", "gear manifest", "gear servers")
MANAGED = "managed servers"
KINDS = {
    "state": ConfigKind(
        "{home}/.claude.json",
        {
            "numStartups": 12,
            "mcpServers": {
                "wiki": {"command": "npx", "args": ["-y", "wiki"], "env": {"TOKEN": "${TOKEN:-x}"}},
                "atlas": {"type": "http", "url": "https://atlas.test/mcp", "headers": {"X-Key": "k"}},
                "denied": {"type": "http", "url": "https://mcp.evil.test/mcp"},
            },
            "projects": {
                "{shop}": {
                    "hasTrustDialogAccepted": True,
                    "mcpServers": {"ledger": {"type": "sse", "url": "http://localhost:1/sse"}},
                    "disabledMcpServers": ["lamp"],
                    "enabledMcpjsonServers": ["till"],
                    "disabledMcpjsonServers": ["scale"],
                }
            },
        },
    ),
    "project servers": ConfigKind(
        "{shop}/.mcp.json",
        {"mcpServers": {name: {"command": name, "args": []} for name in ("till", "scale", "lamp", "git")}},
    ),
    "user settings": ConfigKind(
        "{home}/.claude/settings.json",
        {
            "enableAllProjectMcpServers": True,
            "enabledPlugins": {"quill@orchard": True, "gear@shed": True},
            "deniedMcpServers": [{"serverName": "banned"}, {"serverUrl": "https://*.evil.test/*"}],
        },
        leads_to=OF_PLUGINS,
    ),
    "project settings": ConfigKind(
        "{shop}/.claude/settings.json",
        {"enabledMcpjsonServers": ["till", "git"], "enabledPlugins": {"gear@shed": True}},
        leads_to=OF_PLUGINS,
    ),
    "local settings": ConfigKind(
        "{shop}/.claude/settings.local.json",
        {"disabledMcpjsonServers": ["scale"], "deniedMcpServers": [{"serverCommand": ["rm", "-rf"]}]},
        leads_to=OF_PLUGINS,
    ),
    "managed settings": ConfigKind(
        "{machine}/etc/claude-code/managed-settings.json",
        {"deniedMcpServers": [{"serverName": "git"}], "allowManagedMcpServersOnly": False},
        leads_to=OF_PLUGINS,
    ),
    "managed fragment": ConfigKind(
        "{machine}/etc/claude-code/managed-settings.d/10-more.json",
        {"enabledPlugins": {"quill@orchard": True}},
        leads_to=OF_PLUGINS,
    ),
    MANAGED: ConfigKind(
        "{machine}/etc/claude-code/managed-mcp.json", {"mcpServers": {"audit": {"command": "audit"}}}
    ),
    "installed plugins": ConfigKind(
        f"{PLUGINS}/installed_plugins.json",
        {
            "version": 2,
            "plugins": {"quill@orchard": [{"scope": "user", "installPath": QUILL, "version": "1.0.0"}]},
        },
        leads_to=OF_PLUGINS,
    ),
    "known marketplaces": ConfigKind(
        f"{PLUGINS}/known_marketplaces.json",
        {
            "orchard": {
                "source": {"source": "github", "repo": "ada/orchard"},
                "installLocation": f"{PLUGINS}/marketplaces/orchard",
            },
            "shed": {
                "source": {"source": "directory", "path": f"{PLUGINS}/marketplaces/shed"},
                "installLocation": f"{PLUGINS}/marketplaces/shed",
            },
        },
        leads_to=(*OF_PLUGINS, "catalogue"),
    ),
    "catalogue": ConfigKind(
        f"{PLUGINS}/marketplaces/shed/.claude-plugin/marketplace.json",
        {"name": "shed", "plugins": [{"name": "gear", "source": "./gear"}]},
        leads_to=OF_PLUGINS,
    ),
    "quill manifest": ConfigKind(
        f"{QUILL}/.claude-plugin/plugin.json",
        {"name": "quill", "mcpServers": {"ink": {"command": "ink"}}},
        leads_to=("quill servers",),
    ),
    "quill servers": ConfigKind(f"{QUILL}/.mcp.json", {"spell": {"command": "spell"}}),
    "gear manifest": ConfigKind(
        f"{GEAR}/.claude-plugin/plugin.json", {"name": "gear"}, leads_to=("gear servers",)
    ),
    "gear servers": ConfigKind(
        f"{GEAR}/.mcp.json", {"mcpServers": {"cog": {"type": "http", "url": "https://cog.test"}}}
    ),
    "command": ConfigKind(
        "{shop}/.claude/commands/db/seed.md",
        "---\ndescription: Fills the database\nallowed-tools: [Read, 'Bash(git:*)']\n---\n# Seed\n",
    ),
    "skill": ConfigKind(
        "{home}/.claude/skills/ship/SKILL.md",
        "---\nname: ship\ndescription: >\n  Ships it,\n  twice\ndisable-model-invocation: no\n---\nbody\n",
    ),
    "agent": ConfigKind(
        "{shop}/.claude/agents/scout.md",
        "---\nname: scout\ndescription: Looks: around\ntools: Read, Grep\nmcpServers:\n"
        "  - git\n  - own: {command: run, args: [-v]}\n---\nprompt\n",
    ),
}
USUAL = {"mcpServers": {"git": {"command": "x", "args": ["-y"], "env": {"A": "1"}, "disabled": False}}}
OTHERS: dict[str, tuple[str, object]] = {  # one file each of the other clients
    "klaude": ("{home}/.klaude/.mcp.json", USUAL),
    "cursor": ("{shop}/.cursor/mcp.json", USUAL),
    "vscode": ("{shop}/.vscode/mcp.json", '{"servers": {"git": {"command": "x", "env": {"A": 1}}},} // note'),
    "claude-desktop": ("{home}/.config/Claude/claude_desktop_config.json", USUAL),
    "windsurf": (
        "{home}/.codeium/windsurf/mcp_config.json",
        {"mcpServers": {"a": {"serverUrl": "https://a"}}},
    ),
    "codex": (
        "{home}/.codex/config.toml",
        '[mcp_servers.git]\ncommand = "x"\nargs = ["-y"]\n[projects."/a"]\ntrust_level = "trusted"\n',
    ),
    "gemini-cli": ("{home}/.gemini/settings.json", {**USUAL, "mcp": {"allowed": ["git"]}}),
    "opencode": ("{shop}/opencode.json", '{"mcp": {"git": {"type": "local", "command": ["x"]}}} // note'),
    "zed": ("{shop}/.zed/settings.json", '{"context_servers": {"git": {"command": "x", "args": []}},}'),
    "goose": ("{home}/.config/goose/config.yaml", "extensions:\n  git: {type: stdio, cmd: x, args: [a]}\n"),
    "continue": ("{home}/.continue/config.yaml", "mcpServers:\n  - name: git\n    command: x\n"),
    "cline": ("{home}/.cline/data/settings/cline_mcp_settings.json", USUAL),
    "roo": ("{shop}/.roo/mcp.json", USUAL),
    "kiro": ("{home}/.kiro/settings/mcp.json", USUAL),
    "copilot-cli": ("{home}/.copilot/mcp-config.json", USUAL),
}
FORMATS: dict[str, tuple[Callable[[str], object], str]] = {
    "json": (parse_json, json.dumps(KINDS["state"].content, indent=2)),
    "jsonc": (
        parse_jsonc,
        '{\n  // servers\n  "servers": {"a": {"command": "x", /* why */ "args": [1,],},},\n}',
    ),
    "toml": (
        parse_toml,
        '[mcp_servers.a]\ncommand = "x"\nargs = ["-y", """b"""]\nwhen = 2026-01-01\n[[b]]\nc = 1.5\n',
    ),
    "yaml": (
        parse_yaml,
        "name: a\nservers: &s\n  - {command: x, args: ['y', \"z\"]}\nagain: *s\ntext: |\n  b\n",
    ),
}

NAMES = [
    *(
        "__proto__",
        "constructor",
        "toString",
        "mcpServers",
        "*",
        ".",
        "..",
        "../../etc",
        "mcp__x__*",
        "__",
        "--",
    ),
    *(
        "%s",
        "$HOME",
        "${HOME}",
        "/",
        "",
        " ",
        "\x00",
        "\ud800",
        "a\ud800b",
        "\n",
        "\x1b[2J",
        "é",
        "\U0001f600",
    ),
    *("x" * 5_000, "a.b"),
]
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, 1e308, 0.1, "", "\x00", "\ud800", "text", "x" * 20_000, [], {}),
    *([None] * 500, [[]], {"": ""}, {"__proto__": {"command": "x"}}, [{"command": "x"}], {"command": "x"}),
    *(
        {"a": {"b": {"c": {}}}},
        ["/dev/zero"],
        "/dev/zero",
        "/",
        "\\\\?\\C:",
        "~",
        "${A:-${B}}",
        "file:///etc",
    ),
    {str(number): {"command": "x"} for number in range(300)},
)


def damage(content: object, chance: random.Random) -> bytes:
    """Make one damaged version of a valid file."""
    structural = not isinstance(content, str) and chance.random() < 0.5
    if structural:
        changed = json.loads(json.dumps(content))
        for _ in range(chance.randint(1, 3)):
            changed = _restructured(changed, chance)
        content = changed
    text = content if isinstance(content, str) else json.dumps(content, indent=chance.choice([None, 2]))
    data = text.encode("utf-8", "surrogatepass")
    for _ in range(chance.randint(0 if structural else 1, 3)):
        data = chance.choice(DAMAGES)(data, chance)
    return data[:LARGEST]


def _restructured(content: Any, chance: random.Random) -> Any:
    """Change one node of a JSON value: its type, its key, its place, or that it exists."""
    spots = list(_spots(content))
    if not spots:
        return chance.choice(VALUES)
    parent, key = chance.choice(spots)
    match chance.randrange(6):
        case 0:
            parent[key] = chance.choice(VALUES)
        case 1:
            del parent[key]
        case 2 if isinstance(parent, dict):
            cast("dict[str, object]", parent)[chance.choice(NAMES)] = parent[key]
        case 3:
            other, there = chance.choice(spots)
            parent[key], other[there] = json.loads(json.dumps([other[there], parent[key]]))
        case 4:
            parent[key] = _nested(parent[key], chance)
        case _:
            parent[key] = chance.choice(NAMES)
    return content if chance.random() < 0.95 else chance.choice(VALUES)


def _spots(content: object) -> list[tuple[Any, Any]]:
    node: Any = content
    keys: Sequence[Any] = ()
    if isinstance(content, dict):
        keys = list(cast("dict[str, object]", content))
    elif isinstance(content, list):
        keys = range(len(cast("list[object]", content)))
    return [spot for key in keys for spot in ((node, key), *_spots(node[key]))]


def _nested(value: object, chance: random.Random) -> object:
    for _ in range(chance.choice([1, 2, 90])):
        value = [value] if chance.random() < 0.5 else {"mcpServers": value}
    return value


def _slice(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + chance.choice([1, 2, 10, 200]))


def _truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(min(len(changed), chance.choice([1, 5, 50]))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random) -> bytes:
    start, end = _slice(data, chance)
    return data[:start] + data[end:]


def _doubled(data: bytes, chance: random.Random) -> bytes:
    start, end = _slice(data, chance)
    return data[:end] + data[start:end] * chance.choice([1, 2, 1_000]) + data[end:]


def _swapped(data: bytes, chance: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


def _injected(data: bytes, chance: random.Random) -> bytes:
    at, _ = _slice(data, chance)
    return data[:at] + chance.choice(INJECTIONS) + data[at:]


def _reencoded(data: bytes, chance: random.Random) -> bytes:
    encoding = chance.choice(["utf-16", "utf-16-le", "utf-32", "cp037", "utf-7", "utf-8-sig"])
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def _replaced(_data: bytes, chance: random.Random) -> bytes:
    return chance.choice([b"", b" \n", b"null", b"[]", b"{}", b'""', b"\x00" * 4096, chance.randbytes(3_000)])


DAMAGES = (_truncated, _flipped, _cut, _doubled, _swapped, _injected, _injected, _reencoded, _replaced)
INJECTIONS = (
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\x1b[31m", b"\x7f\x08\r", b"\xc3\x28", b"\xed\xa0\x80"),
    *(
        b'"\\ud800"',
        b"\\u0000",
        b"9" * 30,
        b"9" * 50_000,
        b"1e999999",
        b"-",
        b"NaN",
        b"Infinity",
        b"0x",
        b".",
    ),
    *(b"[" * 100, b"[" * 100_000, b'{"a":' * 50_000, b"{" * 3_000, b"}" * 50, b'"' * 999, b"\\" * 9_999),
    *(b"/*" * 20_000, b"//" * 9_000, b"," * 5_000, b"'" * 999, b"\n" * 20_000, b" " * 90_000, b"\t" * 900),
    *(
        b"&a [*a, *a]\n",
        b"a: &a\n" * 900,
        b"- " * 9_000,
        b"? " * 5_000,
        b"!!python/object:os.system x\n",
        b"%",
    ),
    *(
        b"a.b.c.d=1\n" * 99,
        b"[a]\n[a]\n",
        b"a=[" * 9_000,
        b'"""' * 999,
        b"a=" + b"1_" * 9_000 + b"1\n",
        b"--- ",
    ),
)


@dataclass
class World:
    """A machine with every kind of file, its store, and how everything stood when all was well."""

    root: Path
    has_managed_servers: bool

    def __post_init__(self) -> None:
        self.places = {name: str(self.root / name) for name in ("home", "shop", "machine")}
        (self.root / "shop/.git").mkdir(parents=True)
        (self.root / "home/.claude/plugins/marketplaces/orchard").mkdir(parents=True)
        self.machine = Machine(self.places["home"], {}, root=self.places["machine"])
        # All files count as settled.
        self.files = ClientFiles(self.machine, now_ns=lambda: time.time_ns() + 10**10)
        self.kinds = {
            name: kind for name, kind in KINDS.items() if name != MANAGED or self.has_managed_servers
        }
        for name in self.kinds:
            self.restore(name)
        self.renew()

    def renew(self) -> None:
        """Start with an empty store."""
        clock = iter(range(10**6, 10**9))
        self.store = open_store(":memory:")
        states = open_states(self.store, self.machine)
        self.registry = Registry(self.store, self.files, states, SearchEngine({}), lambda: next(clock))
        self.here = self.registry.at(self.places["shop"])
        self.registry.scan(self.here)
        for tool, succeeded in (("wiki__read", True), ("till__ring", False), ("lost__found", None)):
            self.registry.usage.record(f"mcp__{tool}", self.here, succeeded=succeeded)
            self.registry.usage.report_tool(f"mcp__{tool}", self.here, description=f"Does {tool}.")
        self.rows = self.stored_rows()
        self.standing = self.in_force()
        self.declared = _by_source(self.read())

    def path(self, name: str) -> Path:
        return Path(self._filled(self.kinds[name].path))

    def content(self, name: str) -> object:
        return json.loads(self._filled(json.dumps(self.kinds[name].content)))

    def restore(self, name: str) -> None:
        content = self.content(name)
        self.damage(name, (content if isinstance(content, str) else json.dumps(content)).encode())

    def damage(self, name: str, data: bytes) -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def read(self) -> ClientReading:
        return self.files.read(self.here.view(CLIENT))

    def stored_rows(self) -> set[tuple[object, ...]]:
        columns = (
            "t.id, t.name, t.scope, t.dir, t.discovered_at, u.uses, u.failures, u.outcomes, x.definition_id"
        )
        joins = "left join usage_totals u on u.tool_id = t.id left join sightings x on x.tool_id = t.id"
        return set(run_sql(self.store, f"select {columns} from tools t {joins}"))  # noqa: S608 - no input

    def in_force(self) -> list[ToolDecision]:
        """All that is known and not stale, with the decision about it; asked for in every way there is."""
        listed = self.registry.tools(self.here)
        shape = json_output.listing(listed, summarize(listed, self.here), self.here)
        json.dumps([shape, json_output.explanation(self.registry.explain("git", self.here))]).encode()
        self.registry.session_context(self.here).encode()
        return [
            ToolDecision(tool._replace(updated_at=0), decision)
            for tool, decision in listed
            if tool.status is not ToolStatus.STALE
        ]

    def reach(self, name: str) -> set[str]:
        """The files whose declarations may change with one file."""
        names = {name, *self.kinds[name].leads_to}
        return {str(self.path(each)) for each in names}

    def _filled(self, text: str) -> str:
        for name, place in self.places.items():
            text = text.replace(f"{{{name}}}", place)
        return text


def _by_source(reading: ClientReading) -> dict[str, list[Declaration]]:
    found: dict[str, list[Declaration]] = {}
    for item in reading.declarations:
        found.setdefault(item.source, []).append(item)
    return found


def own_time(step: Callable[[], object]) -> float:
    """What a step takes of this process's own time: how busy the machine is does not count."""
    start = time.process_time()
    step()
    return time.process_time() - start


def is_slow(step: Callable[[], object]) -> bool:
    """Tell whether a step takes too long every time."""
    return all(own_time(step) > PATIENCE for _ in range(4))


def untrusting(standing: list[ToolDecision]) -> list[ToolDecision]:
    return [
        ToolDecision(tool._replace(is_trusted=None, digest=None, entry=None), decision)
        for tool, decision in standing
    ]


def scan_damaged(world: World, name: str, data: bytes) -> None:
    world.damage(name, data)
    assert not is_slow(world.read), "slow"
    reading, path = world.read(), str(world.path(name))
    world.registry.scan(world.here)
    standing = world.in_force()
    assert world.rows <= world.stored_rows(), "a stored row is lost"
    if path in reading.unreadable:
        # Trust ends while a file cannot be read: nobody knows what it would start.
        assert untrusting(standing) == untrusting(world.standing), "what the broken file said no longer holds"
    found, reach = _by_source(reading), world.reach(name)
    others = {source: items for source, items in world.declared.items() if source not in reach}
    assert {source: found.get(source) for source in others} == others, "another file's declarations changed"
    world.restore(name)
    world.registry.scan(world.here)
    assert world.in_force() == world.standing, "the repaired file is not as it was"


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_a_damaged_file_neither_crashes_nor_delays_a_scan_nor_loses_what_was_known(
    tmp_path: Path, part: int
) -> None:
    root = tmp_path.resolve()
    plain, managed = World(root / "plain", False), World(root / "managed", True)
    for case in range(CASES // PARTS):
        chance = random.Random(f"{SEED}/{part}/{case}")  # noqa: S311 - damage, not secrets
        name = chance.choice(list(KINDS))
        world = managed if name == MANAGED else plain
        if case % CASES_PER_STORE == CASES_PER_STORE - 1:
            world.renew()
        data = damage(world.content(name), chance)
        try:
            scan_damaged(world, name, data)
        except Exception as error:
            error.add_note(f"seed {SEED}, part {part}, case {case}: {name} is {data[:2_000]!r}")
            raise


@pytest.mark.proof
@pytest.mark.parametrize("client", [client for client in CLIENTS if client != CLIENT])
def test_a_damaged_file_of_any_client_neither_crashes_nor_delays_a_scan(tmp_path: Path, client: str) -> None:
    root = tmp_path.resolve()
    (root / "shop/.git").mkdir(parents=True)
    place, content = OTHERS[client]
    path = Path(place.format(home=root / "home", shop=root / "shop"))
    path.parent.mkdir(parents=True, exist_ok=True)
    machine, store = Machine(str(root / "home"), {}, root=str(root / "machine")), open_store(":memory:")
    files = ClientFiles(machine)
    registry = Registry(store, files, open_states(store, machine), SearchEngine({}), lambda: 10**6)
    here = registry.at(str(root / "shop"), client)
    for case in range(max(10, CASES // len(OTHERS))):
        chance = random.Random(f"{SEED}/{client}/{case}")  # noqa: S311 - damage, not secrets
        data = damage(content, chance)
        path.write_bytes(data)
        try:
            assert not is_slow(lambda: files.read(here.view(client))), "slow"
            registry.scan(here)
        except Exception as error:
            error.add_note(f"seed {SEED}, case {case}: {data[:2_000]!r}")
            raise


@pytest.mark.proof
@pytest.mark.parametrize("format", FORMATS)
def test_damaged_text_of_any_format_is_read_or_refused_at_once(format: str) -> None:
    parse, text = FORMATS[format]

    def read_or_refuse() -> None:
        try:
            json.dumps(parse(damaged), default=str)
        except FileError as error:
            error.reason.encode()

    for case in range(CASES):
        chance = random.Random(f"{SEED}/{format}/{case}")  # noqa: S311 - damage, not secrets
        data = damage(text, chance)
        damaged = data.decode("utf-8-sig", "replace")
        try:
            assert not is_slow(read_or_refuse), "slow"
        except Exception as error:
            error.add_note(f"seed {SEED}, case {case}: {data[:2_000]!r}")
            raise
