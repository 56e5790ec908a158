"""What a file may say, and what is told of one that says something else."""

import json
import tomllib

import pytest

from remit.config import (
    Comparison,
    ConfigKey,
    Configuration,
    Detector,
    check_tools,
    config_keys,
    reference_page,
)
from remit.config.keys import check_content
from support.configuration import Files


def wrong(text: str, *, is_projects: bool = False) -> list[tuple[str, str, str | None]]:
    mistakes = check_content(tomllib.loads(text), is_projects=is_projects)
    return [(".".join(mistake.path), mistake.message, mistake.hint) for mistake in mistakes]


def one(text: str) -> tuple[str, str, str | None]:
    (mistake,) = wrong(text)
    return mistake


def detector(files: Files, text: str) -> Detector | None:
    files.mine(f"[states.x]\n{text}")
    assert files.problems() == []
    return files.now_says().states["x"].detector


def test_there_are_sixty_one_keys() -> None:
    names = [name for name, _ in config_keys()]
    assert len(names) == len(set(names)) == 61
    assert {"adopt", "memory.enabled", "states.NAME.else", "servers.NAME.sandbox.network"} <= set(names)


def test_the_page_has_every_key_with_its_type_and_its_meaning() -> None:
    rows = [line for line in reference_page().splitlines() if line.startswith("| `")]
    for name, key in config_keys():
        last = name.rpartition("NAME.")[2]
        assert any(
            row.startswith((f"| `{last}` |", f"| `{key.name}` |"))
            and key.type.words in row
            and key.meaning in row
            for row in rows
        ), name


@pytest.mark.parametrize(
    ("text", "path", "message", "hint"),
    [
        ("stratgy = 'auto'", "stratgy", "unknown key `stratgy`", "did you mean `strategy`?"),
        ("strategy = 'stat'", "strategy", "expected one of `auto`, ", "did you mean `state`?"),
        ("strategy = 3", "strategy", "expected one of `auto`, ", None),
        ("token_budget = -1", "token_budget", "expected a whole number from 0 to 1,000,000", None),
        ("token_budget = 1.5", "token_budget", "expected a whole number", None),
        ("token_budget = true", "token_budget", "expected a whole number", None),
        ("result_budget = 20", "result_budget", "out of range; 0 means no limit", None),
        ("retention = '90'", "retention", "expected a number of days such as `400d`", None),
        ("filters = ['filters.py']", "filters", "item 1: expected an absolute path", "write all of it"),
        (
            "embeddings = 'https://u:p@x.test/'",
            "embeddings",
            "neither a model nor a usable URL",
            "use `static`",
        ),
        ("env = ['API_TOKEN']", "env", "item 1: `API_TOKEN` sounds like a secret", None),
        ("states = 3", "states", "expected a table, found a number", None),
        ("tools = [1]", "tools", "expected a table, found a list", None),
        ("[states]\nx = true", "states.x", "expected a table, found true or false", None),
        ("[states.x]\nfil = 'a'", "states.x.fil", "unknown key `fil`", "did you mean `file`?"),
        (
            "[states.x]\ncount = 3\nfile = 'a'",
            "states.x.count",
            "`count` belongs to `glob`, `entities`",
            None,
        ),
        ("[states.x]\nkind = 'workflow'\nelse = true", "states.x.else", "`else` belongs to `file`", None),
        ("[states.location]\npush = true", "states.location", "this name is reserved", None),
        ("[states.X]\nfile = 'a'", "states.X", "not the name of a state", "use lowercase letters"),
        (f"[states.{'x' * 101}]\nfile = 'a'", f"states.{'x' * 101}", "not the name of a state", None),
        ("[states.x]\nfile = 'a'\nenv = 'B'", "states.x.env", "a state has one detector, not 2", None),
        ("[states.x]\nfile = ''", "states.x.file", "the text is empty", None),
        ("[states.x]\nfile = 2020-01-01", "states.x.file", "found a date or time", None),
        ("[states.x]\nfile = ['a', 3]", "states.x.file", "item 2: expected text, found a number", None),
        ("[states.x]\nfile = '../a'", "states.x.file", "a path is invalid or leads out", "write it relative"),
        ("[states.x]\nfile = '/etc/passwd'", "states.x.file", "a path is invalid or leads out", None),
        (f"[states.x]\nfile = {['a'] * 21}", "states.x.file", "expected 1 to 20 items, found 21", None),
        (f"[states.x]\nfile = '{'a' * 5000}'", "states.x.file", "5,000 characters; at most 4,096", None),
        ('[states.x]\nfile = "a\\u0000b"', "states.x.file", "the text has a null character", None),
        ("[states.x]\nglob = 'a**/b'", "states.x.glob", "`**` must be a whole part of the path", "write `*`"),
        (
            "[states.x]\nglob = '*'\ncount = 'many'",
            "states.x.count",
            "expected a number, or a comparison",
            "w",
        ),
        ("[states.x]\nglob = '*'\ntimeout = 0", "states.x.timeout", "expected a number of seconds", None),
        (
            "[states.x]\nglob = '*'\nlifetime = true",
            "states.x.lifetime",
            "expected a number of seconds",
            None,
        ),
        ("[states.x]\ngit = 'dirt'", "states.x.git", "expected one of `repo", "did you mean `dirty`?"),
        ("[states.x]\ngit = 'dirty'\nequals = 'x'", "states.x.equals", "expected a pattern of names", None),
        ("[states.x]\nvalue = 'a.txt#x'", "states.x.value", "not the name of a JSON", "it ends in"),
        (
            "[states.x]\nvalue = 'a.json'",
            "states.x.value",
            "expected a file and the keys of a value",
            "write",
        ),
        ("[states.x]\nvalue = '../a.json#x'", "states.x.value", "a path is invalid", None),
        ("[states.x]\ncommand = 'gh auth'", "states.x.command", "expected a list", "it runs without a shell"),
        ("[states.x]\ncommand = []", "states.x.command", "expected 1 to 50 items, found 0", None),
        ("[states.x]\nhttp = 'http://shop.test/'", "states.x.http", "others on the network can change", None),
        ("[states.x]\nhttp = 'https://u:p@shop.test/'", "states.x.http", "not a plain URL", None),
        ("[states.x]\npush = false", "states.x.push", "expected true", None),
        ("[states.x]\nkind = 'workflow'\nfile = 'a'", "states.x.file", "a workflow state is set by", None),
        (
            "[states.x]\nfile = 'a'\nkind = 'entity'\non = 'b'",
            "states.x.on",
            "only a state of the kind",
            None,
        ),
        ("[states.x]\nfile = 'a'\nagents = true", "states.x.agents", "only workflow states and pushed", None),
        ("[states.x]\nfile = 'a'\nimplies = ['B']", "states.x.implies", "item 1: `B` is not the name", None),
        ("[tools.'']\napproval = true", "tools.", "the pattern is empty", "write `*` for all tools"),
        ("[servers.x]\nallow = 'a'", "servers.x.allow", "expected a list of patterns", "write it as in"),
        ("[servers.x]\nsandbox = 3", "servers.x.sandbox", "expected true or false, or a table of", None),
        ("[servers.x.sandbox]\nnet = true", "servers.x.sandbox.net", "unknown key `net`", None),
        ("[servers.x]\nwrap = []", "servers.x.wrap", "expected 1 to 50 items", None),
    ],
)
def test_a_mistake_is_told_with_its_keys_and_what_was_perhaps_meant(
    text: str, path: str, message: str, hint: str | None
) -> None:
    found = one(text)
    assert found[0] == path
    assert found[1].startswith(message) or message in found[1]
    assert hint is None or (found[2] or "").startswith(hint)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("dangerLevel = 'safe'", "did you mean `danger`?"),
        ("requiresApproval = true", "did you mean `approval`?"),
        ("requiredStates = ['a']", "did you mean `states`?"),
        ("aiEnabled = false", "did you mean `ai_enabled`?"),
    ],
)
def test_words_of_programs_are_answered_with_those_of_files(text: str, hint: str) -> None:
    assert one(f"[tools.x]\n{text}")[2] == hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("promote = 'session'", "leave it out"),
        ("[context]\ntokens = 3", "write `context_budget = 2000`"),
        ("[trust]\nchanges = 'hold'", "write `changes` at the top"),
        ("[suggestions]\nenabled = true", "leave it out"),
        ("[states.x]\ndirectory = 'tests'", 'write `file = "NAME/"`'),
        ("[states.x]\ncommand = ['x']\nexit = 1", "write a command that does"),
        ("[servers.x]\nsessions = 'own'", "write `shared = true`"),
        ("[servers.x]\nidle_timeout = 3", "it is reserved"),
        ("[tools.x]\ndescription = 'a'", "it is reserved"),
        ("[tools.x]\nfixed = {}", "it is reserved"),
        ("[tools.x]\nrename = 'a'", "it is reserved"),
        ("[tools.x]\nresult_budget = 900", "write it at the top of the file"),
        ("[rooms.x]\nstrategy = 'flat'", "write it at the top of the file"),
    ],
)
def test_a_key_that_does_not_exist_any_more_says_what_to_write_instead(text: str, words: str) -> None:
    _, message, hint = one(text)
    assert message.endswith("is not supported")
    assert words in (hint or "")


def test_no_message_shows_a_value() -> None:
    secret = "ghp_abcdefghijklmnopqrstuv1234"  # noqa: S105 - of nothing
    content = {
        "strategy": secret,
        "mode": [secret],
        "retention": secret,
        "embeddings": f"https://{secret}@x.test",
        "filters": [secret],
        "states": {
            "x": {"command": ["a", secret]},
            "y": {"env": "A", "equals": secret},
            "z": {"http": secret},
        },
        "tools": {"x": {"danger": secret, "approval": 3, "states": secret}},
        "servers": {"s": {"sandbox": secret, "wrap": [secret], "deadline": secret}},
    }
    mistakes = check_content(content)
    assert len(mistakes) == 14
    assert secret not in json.dumps(mistakes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('file = "a.yaml"', Detector("file", ("a.yaml",))),
        ('file = ["a", "b/"]', Detector("file", ("a", "b/"))),
        ('glob = "**/*.md"', Detector("glob", ("**/*.md",), lifetime=2)),
        (
            'glob = "*"\ncount = ">= 3"\ntimeout = 1\nlifetime = 9.5',
            Detector("glob", ("*",), Comparison(">=", 3), None, 1, 9.5),
        ),
        ('git = "merging"', Detector("git", ("merging",))),
        ('git = "branch"\nequals = "release/*"', Detector("git", ("branch",), equals="release/*")),
        ('env = "STAGE"\nequals = "dev"', Detector("env", ("STAGE",), equals="dev")),
        ('value = "package.json#scripts.test"', Detector("value", ("package.json#scripts.test",))),
        ('value = "a.yml#x"\nequals = 3', Detector("value", ("a.yml#x",), equals=3)),
        (
            'http = "http://127.0.0.1:8080/health"\nelse = false',
            Detector("http", ("http://127.0.0.1:8080/health",), lifetime=30, otherwise=False),
        ),
        ('entities = "posts/*.md"', Detector("entities", ("posts/*.md",), lifetime=2)),
        (
            'entities = "a.json#items"\ncount = 3',
            Detector("entities", ("a.json#items",), Comparison("==", 3), lifetime=2),
        ),
        ("push = true", Detector("push", (), lifetime=60)),
        ('kind = "workflow"', None),
    ],
)
def test_a_state_has_one_detector(files: Files, text: str, expected: Detector | None) -> None:
    assert detector(files, text) == expected


def test_to_be_offline_can_be_written(files: Files) -> None:
    files.mine(
        '[states.online]\nhttp = "https://shop.test/"\nelse = false\n'
        '[tools."mcp__local__*"]\nstates = { none = ["online"] }\n'
    )
    assert files.problems() == []
    online = files.now_says().states["online"].detector
    assert online is not None
    assert online.otherwise is False


def test_what_a_program_declares_is_checked_as_in_a_file() -> None:
    assert check_tools({"tools": {"a": {"danger": "low", "when": "git.branch == 'x'"}}}) == []
    found = check_tools({"tools": {"a": {"dangr": "low"}}, "mode": "plan"})
    assert [(".".join(mistake.path), mistake.message) for mistake in found] == [
        ("tools.a.dangr", "unknown key `dangr`"),
        ("mode", "unknown key `mode`"),
    ]
    (mistake,) = check_tools({"tools": {"a": {"when": "git.branch &&"}}})
    assert (mistake.path, mistake.line, mistake.column) == (("tools", "a", "when"), 1, 14)


def test_an_extension_adds_keys_and_is_asked_only_for_unknown_ones(files: Files) -> None:
    from remit.config import Configurations, Value

    asked: list[bool] = []

    def extra() -> list[ConfigKey]:
        asked.append(True)
        return [ConfigKey("limits", Value("a number", (int,)), "what one person may use")]

    files.mine("strategy = 'auto'")
    configurations = Configurations(files.store, files.machine, lambda: files.now, (), extra)

    def current() -> Configuration:
        return configurations.current(files.workspace())

    assert (current().extra, asked) == ({}, [])
    files.mine("strategy = 'auto'\nlimits = 3")
    assert (current().extra, current().problems, any(asked)) == ({"limits": 3}, (), True)
