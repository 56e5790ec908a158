"""What each file may say of states, rules and servers, and what waits for trust."""

import os
from pathlib import Path

import pytest

from remit.config import Sandbox, ServerOptions, TrustRequest
from remit.decision import Danger, NextStep, RuleStrength, Snapshot, StateValue
from support import builders
from support.configuration import Files

HOLDS = StateValue(True, "so")
RUNS_GIT = "it starts git, which runs what the repository's settings name"


def trust(files: Files) -> None:
    files.configurations.trust(files.now_says().requests, files.workspace())


def reasons(files: Files) -> list[tuple[str, tuple[str, ...]]]:
    return [(request.title, request.reasons) for request in files.now_says().requests]


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ('[states.docker]\nfile = "x"', "docker", "it redefines what Remit itself declares"),
        ('[states.admin]\nfile = "x"', "admin", "it redefines what the machine file HOME declares"),
        ('[states.x]\nfile = "x"\nimplies = ["admin"]', "x", "it implies `admin`, which the machine file"),
        ('[states."admin.x"]\nfile = "x"', "admin.x", "it implies `admin`, which the machine file HOME"),
        ('[states.root]\nfile = "x"', "root", "it redefines what the managed file"),
    ],
)
def test_a_project_changes_no_state_that_is_not_its_own_until_it_is_trusted(
    files: Files, text: str, name: str, reason: str
) -> None:
    mine = files.mine('[states.admin]\nfile = "a"')
    managed = files.managed('[states.root]\nfile = "r"')
    shared = str(files.shared(text))
    before = files.now_says()
    assert reason.replace("HOME", str(mine)) in files.problems()[0]
    is_foreign = name in ("docker", "admin", "root")
    assert (before.states[name].origin.path == shared) is not is_foreign
    assert before.states[name].waits is not is_foreign
    assert (name in before.implications.names) is is_foreign
    trust(files)
    after = files.now_says()
    assert after.states[name].origin.path == (str(managed) if name == "root" else shared)
    assert not after.states[name].waits
    assert name in after.implications.names
    wins = f"the managed file {managed} declares it and takes precedence"
    assert all(wins in problem for problem in files.problems())
    assert len(files.problems()) == (1 if name == "root" else 0)


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("shared", 'command = ["true"]', "it runs a program"),
        ("mine", 'command = ["true"]', "it runs a program"),
        ("shared", 'git = "dirty"', RUNS_GIT),
        ("managed", 'git = "clean"', RUNS_GIT),
        ("shared", 'http = "https://shop.test/"', "it reaches a server"),
        ("mine", 'http = "https://shop.test/"', None),
        ("shared", 'git = "merging"', None),
    ],
)
def test_what_runs_something_in_a_workspace_waits_for_trust(
    files: Files, file: str, text: str, reason: str | None
) -> None:
    {"shared": files.shared, "mine": files.mine, "managed": files.managed}[file](f"[states.x]\n{text}")
    assert reasons(files) == ([] if reason is None else [("state x", (reason,))])
    assert files.now_says().states["x"].waits is (reason is not None)
    if reason is not None:
        assert files.now_says().rules.unlocks["x"] == "look at it with `remit trust x`, and trust it"
    trust(files)
    assert not files.now_says().states["x"].waits
    assert files.problems() == []


def test_trust_ends_with_any_change_of_what_would_run_and_can_be_revoked(files: Files) -> None:
    files.shared('[states.x]\ncommand = ["true"]')
    trust(files)

    def request(text: str) -> TrustRequest:
        files.shared(f"[states.x]\n{text}")
        (found,) = files.now_says().requests
        return found

    for text in ('command = ["false"]', 'command = ["true"]\ntimeout = 9', 'command = ["true"]\nelse = true'):
        changed = request(text)
        assert (changed.is_trusted, changed.is_changed) == (False, True)
    same = request('description = "new"\ncommand = ["true"]')
    assert (same.is_trusted, same.is_changed, same.shown) == (True, False, "true")
    files.configurations.revoke([same], files.workspace())
    assert files.now_says().states["x"].waits


def test_a_project_opens_no_state_of_yours_to_agents_until_that_is_trusted(files: Files) -> None:
    files.mine('[states.ready]\nkind = "workflow"')
    files.shared(
        '[states.ready]\nkind = "workflow"\nagents = true\n[states.own]\nkind = "workflow"\nagents = true'
    )
    assert not files.now_says().states["ready"].agents
    assert files.now_says().states["own"].agents
    ((title, why),) = reasons(files)
    assert (title, why[1]) == ("state ready", "it lets agents set, clear or push it")
    trust(files)
    assert files.now_says().states["ready"].agents


def test_a_circle_through_several_files_drops_what_the_weakest_says(files: Files) -> None:
    files.shared('[states.a]\nfile = "a"\nimplies = ["b"]')
    near = files.shop / "web"
    files.write(near / "remit.toml", '[states.b]\nfile = "b"\nimplies = ["a"]')
    configuration = files.configurations.current(files.workspace(near))
    assert ["imply each other in a circle" in problem.reason for problem in configuration.problems] == [
        True
    ] * 2
    closed = configuration.implications.close({"a": HOLDS, "typescript-project": HOLDS})
    assert (closed["b"].truth, closed["node-project"].truth) == (False, True)


def test_a_circle_of_the_user_with_a_project_keeps_what_the_user_says(files: Files) -> None:
    files.mine('[states.a]\nfile = "a"\nimplies = ["b"]\n[states.b]\nfile = "b"')
    files.shared('[states.b]\nfile = "b"\nimplies = ["a"]')
    trust(files)
    closed = files.now_says().implications.close({"a": HOLDS})
    assert closed["b"].truth
    assert any("so what it implies is ignored" in problem for problem in files.problems())


def test_variables_of_a_project_wait_for_trust_because_conditions_show_them(files: Files) -> None:
    files.mine('env = ["A"]')
    files.shared('env = ["B"]')
    assert files.now_says().env == ("A",)
    ((title, why),) = reasons(files)
    assert (title, why) == ("variables", ("it lets conditions compare and show B",))
    trust(files)
    assert files.now_says().env == ("A", "B")


def test_a_project_lowers_a_danger_once_it_is_trusted_and_never_an_administrators(files: Files) -> None:
    files.mine('[tools."mcp__git__push"]\ndanger = "critical"')
    files.shared('[tools."mcp__git__*"]\ndanger = "low"\n[tools."mcp__git__push"]\ndanger = "moderate"')

    def danger() -> Danger:
        return files.now_says().rules.rate(builders.tool("mcp__git__push")).rating.level

    assert danger() is Danger.CRITICAL
    assert "it would undo `tools.mcp__git__push.danger` in the machine file" in files.problems()[0]
    assert [title for title, _ in reasons(files)] == ["rule mcp__git__*", "rule mcp__git__push"]
    trust(files)
    assert (danger(), files.problems()) == (Danger.MODERATE, [])
    files.managed('[tools."mcp__git__push"]\ndanger = "critical"')
    assert danger() is Danger.CRITICAL
    assert "in the managed file" in files.problems()[0]


def test_trust_never_undoes_what_the_user_switched_off(files: Files) -> None:
    files.mine("[tools.x]\nai_enabled = false")
    files.shared('[tools.x]\nai_enabled = true\ndanger = "safe"')
    trust(files)
    assert files.now_says().rules.refusal(builders.tool("x"), ()) is not None
    (problem,) = files.problems()
    assert "it would undo `tools.x.ai_enabled`" in problem


def test_a_rule_of_the_user_never_relies_on_a_state_that_only_a_project_declares(files: Files) -> None:
    files.mine('[tools.x]\nstates = ["mine"]\n[tools.y]\nwhen = "entities.mine > 0"')
    files.shared('[states.mine]\nglob = "*"\n[tools.z]\nstates = ["mine"]\nwhen = "entities.mine > 0"')
    snapshot = Snapshot({"mine": HOLDS}, {"entities": {"mine": 3}})
    truths = {
        rule.pattern: rule.condition.judge(snapshot).truth
        for rule in files.now_says().rules.tools
        if rule.condition is not None
    }
    assert truths == {"x": None, "y": None, "z": True}
    assert [problem.partition(": ")[2].partition(" (")[0] for problem in files.problems()] == [
        "tools.x.states: unknown state `mine`",
        "tools.y.when: unknown variable `entities.mine`",
    ]


def test_the_count_of_a_pattern_is_known_to_every_check_whether_or_not_it_has_a_limit(files: Files) -> None:
    files.shared(
        '[states.docs]\nglob = "*.md"\n[states.posts]\nentities = "a.json#items"\n[states.made]\nfile = "x"\n'
        '[tools.x]\nwhen = "entities.docs > 2 && entities.posts == 0"\n[tools.y]\nwhen = "entities.made > 0"'
    )
    (problem,) = files.problems()
    assert "tools.y.when: unknown variable `entities.made`" in problem


def test_names_that_nobody_declares_are_told_with_what_was_meant(files: Files) -> None:
    files.shared(
        "[tools.x]\nwhen = \"state('git-initializd') || env.STAGE == 'dev'\"\n"
        '[states.y]\nfile = "y"\nimplies = ["dockr"]\n[states.idle]\ndescription = "d"\n'
    )
    found = [problem.partition(": ")[2] for problem in files.problems()]
    assert found[0] == "tools.x.when: unknown state `git-initializd` (did you mean `git-initialized`?)"
    assert found[1].startswith("tools.x.when: unknown variable `env.STAGE`")
    assert found[2:] == [
        "states.y.implies: `dockr` is not declared (did you mean `docker`?)",
        "states.idle: it has no detector, and no state implies it: nothing makes it true "
        '(give it a detector, or `kind = "workflow"`)',
    ]


def test_a_condition_that_can_never_be_right_makes_the_file_invalid(files: Files) -> None:
    files.shared('[tools.x]\nwhen = "git.branch > 3"\n[tools.y]\napproval = "args.x &&"\n')
    first, second = files.problems()
    assert first.startswith("remit.toml line 2 column 20: tools.x.when: `git.branch > 3`")
    assert second.startswith("remit.toml line 4 column 22: tools.y.approval: ")
    assert files.now_says().invalid


def test_what_a_condition_says_of_arguments_is_asked_of_a_call(files: Files) -> None:
    files.shared(
        "[tools.x]\nwhen = \"git.branch == 'a' && args.to != 'main'\"\napproval = \"args.force == true\"\n"
    )
    assert files.problems() == []
    (rule,) = files.now_says().rules.tools
    assert rule.condition is not None
    assert rule.call is not None
    assert (rule.condition.arguments, rule.call.arguments) == ((), ("args.to",))
    assert not isinstance(rule.approval, bool)
    assert rule.at("approval").line == 3


def test_lists_pins_rooms_and_modes_of_all_files_combine(files: Files) -> None:
    mine = files.mine(
        'mode = "plan"\nask_from = "critical"\npinned = ["a"]\nchanges = "note"\nadopt = true\n'
        'retention = "30d"\n[servers.web]\nallow = []\n[memory]\nenabled = true\n'
    )
    files.shared(
        'ask_from = "destructive"\npinned = ["b"]\ncontext_budget = 9000\n[rooms.git]\ndescription = "Git"\n'
        'tools = ["mcp__git__*"]\n[namespaces.n]\ndescription = "N"\n[agents.scout]\nblock = ["x"]\n'
    )
    files.managed('mode = "default"\ncontext_budget = 50\n')
    now = files.now_says()
    assert [item.pattern for item in now.pinned] == ["a", "b"]
    assert (now.rooms[0].name, now.rooms[0].description, now.rooms[0].tools[0].pattern) == (
        "git",
        "Git",
        "mcp__git__*",
    )
    assert (now.namespaces, now.context_budget, now.adopt, now.memory) == ({"n": "N"}, 50, True, True)
    assert (now.changes, now.retention) == ("note", 30 * 86_400_000)
    assert now.rules.ask_from is not None
    assert now.rules.ask_from[0] is Danger.DESTRUCTIVE
    assert now.rules.mode is not None
    assert now.rules.fixed_mode is not None
    assert (now.rules.mode.mode, now.rules.mode.origin.path) == ("plan", str(mine))
    assert now.rules.fixed_mode.mode == "default"
    assert {(listed.target, listed.allows) for listed in now.rules.lists} == {
        ("agent", False),
        ("server", True),
    }


def test_a_project_only_lowers_what_agents_read_and_remember(files: Files) -> None:
    files.mine("context_budget = 900\n[memory]\nenabled = true")
    files.shared("context_budget = 5000\n[memory]\nenabled = false")
    now = files.now_says()
    assert (now.context_budget, now.memory) == (900, False)


def test_how_a_server_runs_is_the_users_and_a_project_narrows_it(files: Files) -> None:
    files.mine(
        '[servers.web]\nshared = true\ninherit_env = ["A"]\ndeadline = 3\nwrap = ["nice", "-n", "5"]\n'
        "[servers.lab]\nsandbox = { network = true }\n"
    )
    files.shared("[servers.web]\nsandbox = true\n[servers.lab]\nsandbox = true\n")
    now = files.now_says()
    wrap = ("nice", "-n", "5")
    assert now.options("web") == ServerOptions(True, ("A",), 3, wrap, Sandbox())
    trusted = ServerOptions(True, None, 3, wrap, Sandbox(), "[true]")
    assert now.options("web", is_projects=True) == trusted
    assert now.options("lab").sandbox == Sandbox(network=True)
    assert now.options("lab", is_projects=True).sandbox == Sandbox()
    assert now.options("other") == ServerOptions()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('file = "a"', "create a"),
        ('glob = "*.md"', "create a file that matches *.md"),
        ('env = "CI"', "set the variable CI"),
        ('value = "a.json#x.y"', "set x.y in a.json"),
        ("push = true", "have the application push `x`"),
        ('git = "repository"', "run `git init`"),
        ('git = "branch"\nequals = "main"', "check out main"),
        ('git = "merging"', None),
        ('on = ["a", "b"]', "run `remit states set x`, or let a or b succeed"),
        ('entities = "*"', None),
    ],
)
def test_a_person_is_told_what_would_make_a_state_true(files: Files, text: str, expected: str | None) -> None:
    files.shared(f"[states.x]\n{text}")
    assert files.now_says().rules.unlocks.get("x") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('kind = "workflow"', None),
        ('on = "a"', NextStep("set state `x` by a successful call", ("a",))),
        ('on = "a"\nagents = true', NextStep("run `remit states set x`")),
        ("push = true\nagents = true", None),
    ],
)
def test_a_model_is_told_only_what_it_can_do_itself(
    files: Files, text: str, expected: NextStep | None
) -> None:
    files.shared(f"[states.x]\n{text}")
    assert files.now_says().rules.steps.get("x") == expected


def test_tools_move_workflow_states_by_any_of_their_names(files: Files) -> None:
    files.shared('[states.x]\non = ["mcp__a__new", "b"]\noff = "mcp__a__save"')
    now = files.now_says()
    assert now.transitions("mcp__a__new") == {"x": True}
    assert now.transitions("mcp__a__save") == {"x": False}
    assert now.transitions("c") == {}


def test_a_process_sees_what_another_trusts_and_changes(files: Files) -> None:
    other = files.open()
    files.shared('[states.x]\ncommand = ["true"]')
    assert other.current(files.workspace()).states["x"].waits
    trust(files)
    assert not other.current(files.workspace()).states["x"].waits
    path = Path(files.mine("[tools.x]\nai_enabled = false"))
    assert [rule.strength for rule in other.current(files.workspace()).rules.tools] == [RuleStrength.MACHINE]
    os.unlink(path)
    assert other.current(files.workspace()).rules.tools == ()
