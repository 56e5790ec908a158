"""What a configuration file may say, and what is said of one that says something else."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remit.configuration.config_model import (
    AccessLists,
    ConfigurationContent,
    PresentationOptions,
    Room,
    SandboxOptions,
    ServerOptions,
    ToolEntry,
)
from remit.configuration.detector_kinds import Comparison, Detector, DetectorKind, GitFact
from remit.configuration.file_parser import read
from remit.decision.requirements import LocationScope, StateScope


def said(text: str) -> ConfigurationContent:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    return content


def wrong(text: str) -> list[tuple[str, str, str | None]]:
    _, mistakes = read(tomllib.loads(text))
    return [(".".join(each.path), each.message, each.hint) for each in mistakes]


def detector(text: str) -> Detector | None:
    (state,) = said(f"[states.x]\n{text}").states
    return state.detector


def test_an_empty_file_says_nothing() -> None:
    assert said("") == ConfigurationContent()


def test_a_file_says_how_tools_are_presented_and_what_belongs_together() -> None:
    content = said(
        """
        strategy = "state"
        token_budget = 6000
        result_budget = 20000
        promote = "reopen"
        env = ["STAGE"]
        [servers.playwright]
        result_budget = "off"
        allow = ["browser_*"]
        block = ["browser_evaluate"]
        [agents.reviewer]
        block = ["mcp__git__push"]
        [rooms.git]
        description = "Git work"
        tools = ["mcp__git__*", "/commit"]
        """
    )
    assert content == ConfigurationContent(
        strategy="state",
        token_budget=6000,
        result_budget=20000,
        promote="reopen",
        env=("STAGE",),
        servers=(AccessLists("playwright", ("browser_*",), ("browser_evaluate",), result_budget=0),),
        agents=(AccessLists("reviewer", None, ("mcp__git__push",)),),
        rooms=(Room("git", "Git work", ("mcp__git__*", "/commit")),),
    )


def test_a_file_says_what_is_always_listed_and_how_servers_are_run() -> None:
    content = said(
        """
        pinned = ["mcp__git__*"]
        own_tools = ["why_tool"]
        [servers.git]
        prefix = false
        sessions = "shared"
        inherit_env = ["PATH"]
        deadline = 2.5
        projects = ["~/code/shop", "/srv/x", "~", "*"]
        [servers.web]
        inherit_env = false
        [agents.scout]
        strategy = "search"
        [rooms.git]
        token_budget = 7
        """
    )
    assert content == ConfigurationContent(
        pinned=("mcp__git__*",),
        own_tools=("why_tool",),
        servers=(
            AccessLists(
                "git",
                options=ServerOptions(False, "shared", ("PATH",), 2.5),
                projects=("~/code/shop", "/srv/x", "~", "*"),
            ),
            AccessLists("web", options=ServerOptions(inherit_env=False)),
        ),
        agents=(AccessLists("scout", presentation=PresentationOptions("search")),),
        rooms=(Room("git", presentation=PresentationOptions(token_budget=7)),),
    )


def test_a_single_session_belongs_to_no_principal() -> None:
    content, mistakes = read({"servers": {"web": {"sessions": "single"}}})
    assert not mistakes
    assert content.servers[0].options == ServerOptions(sessions="single")
    assert wrong('servers.web = { sessions = "single", credentials = "principal" }') == [
        ("servers.web.sessions", '`"single"` cannot be combined with `credentials = "principal"`', None)
    ]


def test_a_sandbox_denies_everything_that_it_does_not_name() -> None:
    content, mistakes = read(
        {
            "servers": {
                "git": {"sandbox": {"network": True, "read": ["."], "write": ["out"]}},
                "run": {"sandbox": {"unix_sockets": True}},
                "web": {"sandbox": {}},
                "own": {"sandbox": False},
            }
        }
    )
    assert not mistakes
    assert [each.sandbox for each in content.servers] == [
        SandboxOptions(True, (".",), ("out",)),
        SandboxOptions(unix_sockets=True),
        SandboxOptions(),
        False,
    ]
    found = wrong("servers.a.sandbox = true\nservers.b.sandbox = 1\nservers.c.sandbox = { net = true }")
    assert [(path, message) for path, message, _ in found] == [
        ("servers.a.sandbox", "expected a table, or false for no sandbox"),
        ("servers.b.sandbox", "expected true or false, found a number"),
        ("servers.c.sandbox.net", "`net` is not a known key"),
    ]


def test_what_is_wrong_about_how_servers_are_run_is_said_with_what_was_perhaps_meant() -> None:
    found = wrong(
        """
        own_tools = ["why_tols", "x"]
        [servers.git]
        prefx = false
        sessions = "share"
        inherit_env = "PATH"
        deadline = 0
        projects = ["shop"]
        [agents.scout]
        strategy = "serch"
        [rooms.git]
        token_budget = -1
        """
    )
    assert found == [
        ("own_tools", "`why_tols` is not one of Remit's own tools", "did you mean `why_tool`?"),
        (
            "own_tools",
            "`x` is not one of Remit's own tools",
            "expected one of `discover_tools`, `call_tool`, `why_tool`, `report_available_tools`, "
            "`read_result`",
        ),
        ("servers.git.prefx", "`prefx` is not a known key", "did you mean `prefix`?"),
        ("servers.git.sessions", "expected one of `shared`, `own`, `single`", "did you mean `shared`?"),
        ("servers.git.inherit_env", "expected true or false, found text", None),
        (
            "servers.git.deadline",
            "expected a number of seconds above 0 and up to 86400, found a number",
            None,
        ),
        (
            "servers.git.projects",
            "expected the absolute path of a project, found `shop`",
            'for example `["~/code/shop"]`, or `["*"]` for all projects',
        ),
        (
            "agents.scout.strategy",
            "expected one of `auto`, `flat`, `state`, `namespace`, `rooms`, `manifest`, `search`",
            "did you mean `search`?",
        ),
        (
            "rooms.git.token_budget",
            "expected a whole number from 0 to 1,000,000, found a number",
            None,
        ),
    ]


def test_a_tool_asks_for_states_a_condition_and_a_place() -> None:
    content = said(
        """
        [tools."requirement.*"]
        states = ["project-loaded"]
        namespace = "requirement"
        [tools.x]
        states = { all = ["a"], any = ["b"], none = ["c"] }
        when = "git.branch != 'main'"
        location = { pages = ["/blog"], components = ["editor"] }
        danger = "moderate"
        approval = true
        ai_enabled = false
        """
    )
    assert content.tools == (
        ToolEntry("requirement.*", states=StateScope(all=("project-loaded",)), namespace="requirement"),
        ToolEntry(
            "x",
            states=StateScope(("a",), ("b",), ("c",)),
            when="git.branch != 'main'",
            location=LocationScope(pages=("/blog",), components=("editor",)),
            danger="moderate",
            approval=True,
            ai_enabled=False,
        ),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('file = "a.yaml"', Detector(DetectorKind.FILE, paths=("a.yaml",))),
        ('file = ["a", "b/"]', Detector(DetectorKind.FILE, paths=("a", "b/"))),
        ('directory = "tests"', Detector(DetectorKind.DIRECTORY, paths=("tests",))),
        ('glob = "**/*.md"', Detector(DetectorKind.GLOB, glob="**/*.md", timeout=2, lifetime=2)),
        (
            'glob = "*.md"\ncount = ">= 3"\ntimeout = 1\nlifetime = 9.5',
            Detector(DetectorKind.GLOB, glob="*.md", amount=Comparison(">=", 3), timeout=1, lifetime=9.5),
        ),
        ('git = "merging"', Detector(DetectorKind.GIT, fact=GitFact.MERGING, timeout=2)),
        ('git = "dirty"', Detector(DetectorKind.GIT, fact=GitFact.DIRTY, timeout=2, lifetime=2)),
        (
            'git = { branch = "release/*" }',
            Detector(DetectorKind.GIT, fact=GitFact.BRANCH, branch="release/*", timeout=2),
        ),
        ('env = "CI"', Detector(DetectorKind.ENV, variable="CI")),
        (
            'env = { name = "STAGE", equals = "dev" }',
            Detector(DetectorKind.ENV, variable="STAGE", equals="dev"),
        ),
        (
            'value = { file = "package.json", at = "scripts.test" }',
            Detector(DetectorKind.VALUE, paths=("package.json",), keys=("scripts", "test")),
        ),
        (
            'value = { file = "a.yml", at = ["x.y", "z"], equals = 3 }',
            Detector(DetectorKind.VALUE, paths=("a.yml",), keys=("x.y", "z"), equals=3),
        ),
        (
            'command = ["gh", "auth", "status"]\nexit = [0, 2]',
            Detector(
                DetectorKind.COMMAND, argv=("gh", "auth", "status"), exits=(0, 2), timeout=2, lifetime=30
            ),
        ),
        (
            'http = "http://127.0.0.1:8080/health"\nstatus = 204',
            Detector(
                DetectorKind.HTTP,
                url="http://127.0.0.1:8080/health",
                statuses=(204,),
                timeout=2,
                lifetime=30,
            ),
        ),
        (
            'entities = { glob = "posts/*.md" }',
            Detector(
                DetectorKind.ENTITIES, glob="posts/*.md", amount=Comparison(">=", 1), timeout=2, lifetime=2
            ),
        ),
        (
            'entities = { file = "a.json", at = "items" }\ncount = 3',
            Detector(
                DetectorKind.ENTITIES,
                paths=("a.json",),
                keys=("items",),
                amount=Comparison("==", 3),
                timeout=2,
                lifetime=2,
            ),
        ),
        (
            'entities = { database = "a.db", table = "posts" }',
            Detector(
                DetectorKind.ENTITIES,
                database="a.db",
                table="posts",
                amount=Comparison(">=", 1),
                timeout=2,
                lifetime=2,
            ),
        ),
        ("push = true", Detector(DetectorKind.PUSH, lifetime=60)),
    ],
)
def test_a_state_has_one_detector(text: str, expected: Detector) -> None:
    assert detector(text) == expected


def test_a_workflow_state_follows_what_tools_do() -> None:
    (state,) = said('[states."project.editing"]\non = "mcp__x__create"\noff = ["mcp__x__save"]').states
    assert (state.kind, state.detector) == ("workflow", None)
    assert (state.on, state.off) == (("mcp__x__create",), ("mcp__x__save",))
    (state,) = said('[states.x]\nkind = "entity"\nfile = "x"\nimplies = ["y"]\ndescription = "d"').states
    assert (state.kind, state.implies, state.description) == ("entity", ("y",), "d")


@pytest.mark.parametrize("text", ['kind = "workflow"', 'on = "mcp__x__create"', "push = true"])
def test_a_state_that_commands_set_may_be_open_to_agents(text: str) -> None:
    for more, expected in (("", False), ("agents = false", False), ("agents = true", True)):
        (state,) = said(f"[states.x]\n{text}\n{more}").states
        assert state.agents is expected


@pytest.mark.parametrize(
    ("text", "path", "message", "hint"),
    [
        ("stratgy = 'auto'", "stratgy", "`stratgy` is not a known key", "did you mean `strategy`?"),
        ("strategy = 'stat'", "strategy", "expected one of `auto`, ", "did you mean `state`?"),
        ("strategy = 3", "strategy", "expected one of `auto`, ", None),
        (
            "token_budget = -1",
            "token_budget",
            "expected a whole number from 0 to 1,000,000, found a number",
            None,
        ),
        ("token_budget = 1.5", "token_budget", "expected a whole number", None),
        ("result_budget = 20", "result_budget", "expected at least 500, or 0 for no limit", None),
        ("result_budget = 'of'", "result_budget", "expected a whole number", None),
        ("env = ['API_TOKEN']", "env", "`API_TOKEN` sounds like a secret", None),
        ("states = 3", "states", "expected a table, found a number", None),
        ("tools = [1]", "tools", "expected a table, found a list", None),
        ("[states]\nx = true", "states.x", "expected a table, found true or false", None),
        ("[states.x]\nfil = 'a'", "states.x.fil", "`fil` is not a known key", "did you mean `file`?"),
        (
            "[states.x]\ncount = 3\nfile = 'a'",
            "states.x.count",
            "`count` is not a known key",
            "expected one of ",
        ),
        ("[states.location]\npush = true", "states.location", "this name is reserved", None),
        ("[states.X]\nfile = 'a'", "states.X", "not the name of a state", "use lowercase letters"),
        (f"[states.{'x' * 101}]\nfile = 'a'", f"states.{'x' * 101}", "not the name of a state", None),
        (
            "[states.x]\nfile = 'a'\nenv = 'B'",
            "states.x.env",
            "a state has one detector, not 2: `file`, `env`",
            None,
        ),
        ("[states.x]\nfile = ''", "states.x.file", "the text is empty", None),
        ("[states.x]\nfile = 2020-01-01", "states.x.file", "expected text, found a date or time", None),
        ("[states.x]\nfile = ['a', 3]", "states.x.file", "item 2: expected text, found a number", None),
        (
            "[states.x]\nfile = '../a'",
            "states.x.file",
            "a path is invalid or leads out of the project",
            "write it relative",
        ),
        (
            "[states.x]\nfile = '/etc/passwd'",
            "states.x.file",
            "a path is invalid or leads out of the project",
            None,
        ),
        (f"[states.x]\nfile = {['a'] * 21}", "states.x.file", "21 paths; at most 20", None),
        (f"[states.x]\nfile = {['a'] * 501}", "states.x.file", "501 items; at most 500", None),
        (
            f"[states.x]\nfile = '{'a' * 5000}'",
            "states.x.file",
            "5,000 characters; at most 4,096",
            None,
        ),
        ('[states.x]\nfile = "a\\u0000b"', "states.x.file", "the text has a null character", None),
        ("[states.x]\nfile = {}", "states.x.file", "expected text, found a table", None),
        ("[states.x]\nglob = 3", "states.x.glob", "expected text", None),
        ("[states.x]\nglob = '../*'", "states.x.glob", "a path is invalid or leads out of the project", None),
        ("[states.x]\nglob = 'a**/b'", "states.x.glob", "`**` must be a whole part of the path", "write `*`"),
        (
            "[states.x]\nglob = '*'\ncount = 'many'",
            "states.x.count",
            "expected a number, or a comparison",
            "write it as",
        ),
        (
            "[states.x]\nglob = '*'\ncount = []",
            "states.x.count",
            "expected a single value, found a list",
            None,
        ),
        (
            "[states.x]\nglob = '*'\ncount = true",
            "states.x.count",
            "expected a number, or a comparison",
            None,
        ),
        (
            "[states.x]\nglob = '*'\ntimeout = 0",
            "states.x.timeout",
            "expected a number of seconds above 0",
            None,
        ),
        (
            "[states.x]\nglob = '*'\nlifetime = true",
            "states.x.lifetime",
            "expected a number of seconds",
            None,
        ),
        ("[states.x]\ngit = 'dirt'", "states.x.git", "expected one of `repository`", "did you mean `dirty`?"),
        ("[states.x]\ngit = {}", "states.x.git", "expected `branch`", None),
        ("[states.x]\ngit = { branch = 3 }", "states.x.git.branch", "expected text", None),
        ("[states.x]\nenv = 3", "states.x.env", "expected text", None),
        ("[states.x]\nenv = {}", "states.x.env.name", "expected the name of a variable", None),
        (
            "[states.x]\nenv = { name = 'A', equals = 'ghp_abcdefghijklmnopqrstuv1234' }",
            "states.x.env.equals",
            "this may be a secret",
            None,
        ),
        (
            "[states.x]\nvalue = { file = 'a.json', at = 'x', equals = nan }",
            "states.x.value.equals",
            "expected a single value, found a number",
            None,
        ),
        ("[states.x]\nvalue = 'a'", "states.x.value", "expected a table, found text", None),
        ("[states.x]\nvalue = { at = 'x' }", "states.x.value.file", "expected the path of a JSON", None),
        (
            "[states.x]\nvalue = { file = 'a.txt', at = 'x' }",
            "states.x.value.file",
            "not the name of a JSON",
            "it ends in",
        ),
        (
            "[states.x]\nvalue = { file = 'a.json' }",
            "states.x.value.at",
            "expected the path to a value",
            "write it as",
        ),
        (
            "[states.x]\nvalue = { file = '../a.json', at = 'x' }",
            "states.x.value.file",
            "a path is invalid",
            None,
        ),
        ("[states.x]\ncommand = 'gh auth'", "states.x.command", "expected a list", "it runs without a shell"),
        ("[states.x]\ncommand = []", "states.x.command", "expected 1 to 50 words", None),
        (
            "[states.x]\ncommand = ['x', 'ghp_abcdefghijklmnopqrstuv1234']",
            "states.x.command",
            "a word may be a secret",
            None,
        ),
        (
            "[states.x]\ncommand = ['x']\nexit = 300",
            "states.x.exit",
            "expected whole numbers from 0 to 255",
            None,
        ),
        ("[states.x]\nhttp = 3", "states.x.http", "expected text", None),
        (
            "[states.x]\nhttp = 'http://shop.test/'",
            "states.x.http",
            "others on the network can change",
            "write an https",
        ),
        ("[states.x]\nhttp = 'https://user:pass@shop.test/'", "states.x.http", "not a plain URL", None),
        ("[states.x]\nentities = 3", "states.x.entities", "expected a table", None),
        ("[states.x]\nentities = {}", "states.x.entities", "expected one of `glob`", None),
        ("[states.x]\nentities = { glob = '../a' }", "states.x.entities.glob", "a path is invalid", None),
        ("[states.x]\nentities = { glob = 'a**b' }", "states.x.entities.glob", "`**` must be", None),
        (
            "[states.x]\nentities = { file = 'a.txt', at = 'items' }",
            "states.x.entities.file",
            "not the name of a JSON, TOML or YAML file",
            "it ends in .json",
        ),
        (
            "[states.x]\nentities = { file = 'a.json' }",
            "states.x.entities.at",
            "expected the path to a value",
            None,
        ),
        (
            "[states.x]\nentities = { database = 'a.db' }",
            "states.x.entities.table",
            "expected the name of a table",
            None,
        ),
        ("[states.x]\npush = false", "states.x.push", "expected true", None),
        ("[states.x]\npush = 3", "states.x.push", "expected true or false, found a number", None),
        (
            "[states.x]\nkind = 'workflow'\nfile = 'a'",
            "states.x.file",
            "a workflow state is set by commands",
            None,
        ),
        (
            "[states.x]\nkind = 'entity'\nfile = 'a'\non = 'y'",
            "states.x.on",
            "only a state of the kind `workflow`",
            None,
        ),
        (
            "[states.x]\nfile = 'a'\nimplies = ['B C']",
            "states.x.implies",
            "`B C` is not the name of a state",
            None,
        ),
        ("[states.x]\nkind = 'workflow'\non = 3", "states.x.on", "expected text", None),
        (
            "[states.x]\nfile = 'a'\nagents = true",
            "states.x.agents",
            "only workflow states and pushed states are set by commands",
            None,
        ),
        (
            "[states.x]\nagents = true",
            "states.x.agents",
            "only workflow states and pushed states are set by commands",
            None,
        ),
        ("[states.x]\non = 'y'\nagents = 1", "states.x.agents", "expected true or false", None),
        ("[tools.'']\nstates = []", "tools.", "the pattern is empty", "write `*` for all tools"),
        (
            "[tools.x]\nstates = 'a'",
            "tools.x.states",
            "expected a list of texts, found text",
            'write `states = ["…"]`',
        ),
        (
            "[tools.x]\nstates = { al = ['a'] }",
            "tools.x.states.al",
            "`al` is not a known key",
            "did you mean `all`",
        ),
        ("[tools.x]\nlocation = 3", "tools.x.location", "expected a table", None),
        (
            "[tools.x]\nlocation = { page = [] }",
            "tools.x.location.page",
            "`page` is not a known key",
            "did you mean `pages`?",
        ),
        ("[tools.x]\ndanger = 'high'", "tools.x.danger", "expected one of `safe`", None),
        ("[tools.x]\napproval = 'yes'", "tools.x.approval", "expected true or false, found text", None),
        ("[servers.x]\nalow = []", "servers.x.alow", "`alow` is not a known key", "did you mean `allow`?"),
        ("[rooms.x]\ntools = 'a'", "rooms.x.tools", "expected a list of texts", None),
    ],
)
def test_what_is_wrong_is_named_with_its_key_and_what_is_allowed(
    text: str, path: str, message: str, hint: str | None
) -> None:
    found = wrong(text)
    assert found
    assert found[0][0] == path
    assert found[0][1].startswith(message)
    assert hint is None or str(found[0][2]).startswith(hint)


def test_every_mistake_is_named_and_none_shows_a_value() -> None:
    found = wrong(
        "strategy = 'hunter2'\ntoken_budget = 'hunter2'\n[states.x]\nfile = 3\n[tools.x]\nwhn = 'hunter2'"
    )
    assert [path for path, _, _ in found] == ["strategy", "token_budget", "states.x.file", "tools.x.whn"]
    assert "hunter2" not in str(found)


def test_a_table_with_thousands_of_keys_is_not_read() -> None:
    content, (mistake,) = read({"states": {f"s{number}": {"file": "a"} for number in range(2001)}})
    assert content.states == ()
    assert mistake.message == "2,001 keys; at most 2,000 are read"


def test_what_is_no_table_says_nothing() -> None:
    content, (mistake,) = read([1])
    assert content == ConfigurationContent()
    assert mistake.message == "expected a table, found a list"


KEYS = some.sampled_from(
    [
        "states",
        "tools",
        "servers",
        "rooms",
        "env",
        "x",
        "a.b",
        "file",
        "glob",
        "git",
        "branch",
        "value",
        "at",
        "command",
        "http",
        "entities",
        "database",
        "table",
        "push",
        "kind",
        "on",
        "implies",
        "when",
        "location",
        "pages",
        "all",
        "any",
        "count",
        "timeout",
        "exit",
        "status",
        "equals",
        "name",
        "strategy",
        "allow",
    ]
)
LEAF = some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5) | some.dates()
ANYTHING = some.recursive(
    LEAF,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.long
@given(some.dictionaries(KEYS, ANYTHING, max_size=5))
def test_whatever_a_file_holds_is_read_or_is_a_mistake(content: dict[str, object]) -> None:
    read_content, mistakes = read(content)
    assert isinstance(read_content, ConfigurationContent)
    if not mistakes:  # what is kept in the store reads back the same
        assert read(json.loads(json.dumps(content))) == (read_content, [])
