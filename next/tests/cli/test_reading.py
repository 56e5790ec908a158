"""The other reading commands, what all of them have in common, and what they load."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from remit.cli.app import COMMANDS
from remit.files import locate
from remit.store import Call, open_store
from support.command_line import CommandLine

STDIO = {"command": "/bin/true"}
READING = [
    "tools",
    "tools --all --json",
    "tools --client all",
    "why shop",
    "why Bash",
    "why nothing",
    "context",
    "doctor",
    "doctor --client all",
    "doctor --rules",
    "doctor --clients",
    "calls",
    "usage",
    "states",
    "search issue",
    "",
]
PRIVATE = (
    "gate:",
    "held",
    "pinned definition",
    "demoted",
    "upstream",
    "artifact",
    "hygiene",
    "sighting",
    "promote",
)
HEAVY = (
    "anyio",
    "asyncio",
    "httpx2",
    "mcp",
    "onnxruntime",
    "pydantic",
    "rich",
    "ssl",
    "tomlkit",
    "importlib.metadata",
)


def _store(remit: CommandLine) -> str:
    return str(remit.home / ".local/share/remit/remit.sqlite")


@pytest.mark.long
@pytest.mark.parametrize("command", READING)
def test_a_second_look_writes_nothing(command: str, remit: CommandLine) -> None:
    remit.mine(github=STDIO, time=STDIO)
    remit.shared(remit.shop, shop=STDIO)
    remit("scan")
    first = remit(*command.split())
    with open_store(_store(remit)) as store:
        before = store.catalog.revision(), store.database.revision()

        second = remit(*command.split())

        assert (second.code, second.out) == (first.code, first.out)
        assert (store.catalog.revision(), store.database.revision()) == before


def test_a_look_at_a_changed_file_stores_it(remit: CommandLine) -> None:
    remit.mine(github=STDIO)
    remit("tools")
    remit.mine(github=STDIO, time=STDIO)

    assert [tool["server"] for tool in remit("tools", "--json").json["tools"]] == ["github", "time"]


def test_no_private_word_is_in_what_people_read(remit: CommandLine) -> None:
    remit.mine(git=STDIO, lamp={"command": "/nowhere/lamp"})
    remit.shared(remit.shop, till=STDIO)
    texts = [remit(*command.split()).out for command in READING if "--json" not in command]
    texts += [
        remit(name, "--help").out for name in ("tools", "why", "search", "doctor", "calls", "usage", "states")
    ]
    texts.append(remit("--help").out)

    assert [(word, text) for word in PRIVATE for text in texts if word in text.lower()] == []


def test_every_call_is_listed_refused_ones_with_what_refused_them(remit: CommandLine) -> None:
    remit("tools")
    calls = [
        Call(
            1_700_000_000_000, "hook", "claude-code", None, None, "mcp__git__log", "visible", None, "done", 12
        ),
        Call(1_700_000_001_000, "hook", "claude-code", "tester", None, "Bash", "hidden", "policy", "refused"),
    ]
    with open_store(_store(remit)) as store:
        store.calls.add(calls, locate(str(remit.shop)))
    rows = remit("calls").lines[3:]

    assert rows[0].split()[2:] == ["Bash", "tester", "refused", "(policy)"]
    assert rows[1].split()[2:] == ["mcp__git__log", "done", "12"]
    answer = remit("calls", "--outcome", "refused", "--json").json
    assert (answer["total"], answer["calls"][0]["gate"]) == (1, "policy")
    assert remit("calls", "git", "--json").json["total"] == 1


def test_every_result_of_a_search_has_its_score(remit: CommandLine) -> None:
    remit.mine(time=remit.recorded("time", "get_current_time", "convert_time"))
    remit("tools", "--refresh")
    finished = remit("search", "current", "time")

    names = [line for line in finished.lines if line[:1].isdigit()]
    assert len(names) == finished.out.count("score ")
    assert {match["name"] for match in remit("search", "current time", "--json").json["matches"]} >= {
        "mcp__time__get_current_time"
    }
    assert remit("search", "weather on mars").code == 1


def test_a_state_is_set_and_cleared_by_a_person_and_by_an_agent_only_where_it_may(remit: CommandLine) -> None:
    remit.write(
        remit.home / ".config/remit/remit.toml",
        '[states.review]\nkind = "workflow"\n\n[states.open]\nkind = "workflow"\nagents = true\n',
    )

    assert remit("states", "set", "review").out == "set review\n"
    states = {state["name"]: state for state in remit("states", "--json").json["states"]}
    assert (states["review"]["value"], states["review"]["layer"]) == (True, "machine")
    remit.variables["CLAUDECODE"] = "1"
    refused = remit("states", "clear", "review")
    assert refused.code == 2
    assert "only a person" in refused.err
    assert remit("states", "set", "open").code == 0
    assert remit("states", "set", "nothing").code in (1, 2)


def test_a_state_command_acts_in_the_named_directory(remit: CommandLine) -> None:
    remit.write(remit.home / ".config/remit/remit.toml", '[states.review]\nkind = "workflow"\n')
    blog = remit.project("blog")
    remit("states", "-C", str(blog), "set", "review")

    def value(directory: Path) -> bool:
        states = remit("states", "--json", cwd=directory).json["states"]
        return next(state["value"] for state in states if state["name"] == "review")

    assert (value(blog), value(remit.shop)) == (True, False)


def test_the_json_of_each_command_says_what_it_is_about(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    for words in ("tools", "scan", "search git", "states", "calls", "usage", "doctor", "doctor --rules"):
        answer = remit(*words.split(), "--json").json
        assert answer["workspace"] == str(remit.shop), words
        assert answer["client"] == "claude-code", words
        assert answer["project"]["path"] == str(remit.shop), words


def _loaded(remit: CommandLine, *words: str) -> set[str]:
    code = (
        "import sys, json\nsys.argv = ['remit', *sys.argv[1:]]\nfrom remit.cli.app import app\n"
        "try: app.main(standalone_mode=False)\nexcept SystemExit: pass\n"
        "sys.stderr.write(json.dumps([*sys.modules]))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=remit.shop,
        env=remit.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(process.stderr.splitlines()[-1]))


@pytest.mark.parametrize("words", ["--help", "tools", "tools --json", "why git", "", "states", "calls"])
def test_reading_loads_nothing_heavy(remit: CommandLine, words: str) -> None:
    remit.mine(git=STDIO)
    remit("scan")
    loaded = _loaded(remit, *words.split())
    heavy = set(HEAVY) - ({"importlib.metadata"} if words == "--help" else set())

    assert (
        loaded & {*heavy, "numpy", "remit.gateway", "remit.memory.memory", "remit.clients.install"} == set()
    )
    if words.startswith("tools"):
        assert len([name for name in loaded if name.startswith("remit")]) <= 90


def test_the_help_loads_no_command(remit: CommandLine) -> None:
    own = {
        name
        for name in _loaded(remit, "--help")
        if name.startswith(("remit.cli.", "remit.decision", "remit.catalog"))
    }

    assert own == {"remit.cli.app", "remit.cli.options", "remit.cli.render"}


def test_each_listed_command_is_a_place_and_one_of_the_headings() -> None:
    assert {entry.heading for entry in COMMANDS.values()} == {"Look", "Set up", "Run", "For scripts", ""}
    assert all(entry.place.count(":") == 1 for entry in COMMANDS.values())
