"""Which file counts, and what waits for trust."""

import tomllib
from pathlib import PurePosixPath

import pytest

from remit.configuration.condition_rules import mistakes_in, mistakes_of, vocabulary
from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile, base_dirs
from remit.configuration.file_parser import read
from remit.configuration.layers import combine
from remit.configuration.merged_configuration import Configuration, Transition, model_step, state_unlock
from remit.decision.gates import NextStep
from remit.decision.projects import Workspace, identify
from remit.decision.state_snapshot import StateValue
from support.builders import SHOP

HOME = "/home/ada/.config/remit/remit.toml"
HOLDS = StateValue(True, "so")
SHARED = "/code/shop/remit.toml"
ROOT = "/etc/remit/remit.toml"


def of(layer: ConfigurationLayer, path: str, text: str) -> LoadedFile:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    in_project = layer in (ConfigurationLayer.PROJECT, ConfigurationLayer.LOCAL)
    return LoadedFile(
        ConfigurationFile(layer, path, str(PurePosixPath(path).parent) if in_project else None), content
    )


def machine(text: str) -> LoadedFile:
    return of(ConfigurationLayer.MACHINE, HOME, text)


def project(text: str, path: str = SHARED) -> LoadedFile:
    return of(ConfigurationLayer.PROJECT, path, text)


def managed(text: str) -> LoadedFile:
    return of(ConfigurationLayer.MANAGED, ROOT, text)


def trusting(said: list[LoadedFile]) -> Configuration:
    """Combine files as if the user trusted all that needs it."""
    trust_requests = combine(said, {}).trust_requests
    return combine(said, {(each.file.path, each.name): each.digest for each in trust_requests})


def wrong(*said: LoadedFile) -> list[str]:
    found = mistakes_of(combine(list(said), {}))
    return [f"{file.path} {'.'.join(each.path)}: {each.message}" for file, each in found]


def source(configuration: Configuration, name: str) -> str:
    return configuration.states[name].file.path


def test_the_common_states_are_there_without_any_file() -> None:
    names = set(combine([], {}).states)
    assert names >= {
        "git-initialized",
        "ci-configured",
        "python-project",
        "node-project",
        "has-tests",
        "docker",
    }
    assert combine([], {}).trust_requests == ()


def test_the_nearest_file_counts_and_an_administrators_above_all() -> None:
    said = [
        machine('strategy = "flat"\ntoken_budget = 1\n[states.x]\nfile = "machine"'),
        project('token_budget = 2\n[states.y]\nfile = "root"'),
        project('[states.y]\nfile = "near"', "/code/shop/web/remit.toml"),
        managed('strategy = "search"'),
    ]
    configuration = combine(said, {})
    assert (configuration.strategy, configuration.token_budget) == ("search", 2)
    assert source(configuration, "y") == "/code/shop/web/remit.toml"


def test_rules_servers_agents_rooms_and_variables_of_all_files_are_kept() -> None:
    text = 'env = ["A"]\n[tools.x]\nstates = []\n[servers.s]\n[agents.a]\n[rooms.r]'
    configuration = combine([machine(text), project(text)], {})
    assert [rule.file.path for rule in configuration.rules] == [HOME, SHARED]
    assert configuration.env == ("A",)
    assert combine([project(text)], {}).env == ()
    assert [each.title for each in combine([project(text)], {}).trust_requests] == ["variables"]
    assert trusting([project(text)]).env == ("A",)
    assert [len(each) for each in (configuration.servers, configuration.agents, configuration.rooms)] == [
        2,
        2,
        2,
    ]
    assert configuration.has_conditions
    assert not combine([], {}).has_conditions


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        (
            '[states.git-initialized]\nfile = "x"',
            "git-initialized",
            "it redefines what Remit itself declares",
        ),
        ('[states.admin]\nfile = "x"', "admin", f"it redefines what the machine file {HOME} declares"),
        (
            '[states.x]\nfile = "x"\nimplies = ["admin"]',
            "x",
            f"it implies `admin`, which the machine file {HOME} declares",
        ),
        (
            '[states."admin.x"]\nfile = "x"',
            "admin.x",
            f"it implies `admin`, which the machine file {HOME} declares",
        ),
        ('[states.root]\nfile = "x"', "root", f"it redefines what the managed file {ROOT} declares"),
    ],
)
def test_a_project_changes_no_state_that_is_not_its_own_until_it_is_trusted(
    text: str, name: str, reason: str
) -> None:
    said = [machine('[states.admin]\nfile = "a"'), project(text), managed('[states.root]\nfile = "r"')]
    configuration = combine(said, {})
    (conflict,) = configuration.conflicts
    assert (conflict.name, conflict.reason) == (name, reason)
    assert configuration.waiting == ({name} if name in ("x", "admin.x") else set())
    if name not in configuration.waiting:
        assert source(configuration, name) != SHARED
    assert "admin.x" not in configuration.implications.names
    assert "x" not in configuration.implications.names


def test_trusted_it_may_but_an_administrator_still_wins() -> None:
    text = '[states.admin]\nfile = "x"\n[states.root]\nfile = "x"\n[states.mine]\nfile = "x"\n'
    text += 'implies = ["admin"]'
    said = [machine('[states.admin]\nfile = "a"'), project(text), managed('[states.root]\nfile = "r"')]
    configuration = trusting(said)
    assert source(configuration, "admin") == SHARED
    assert source(configuration, "root") == ROOT
    assert [each.reason for each in configuration.conflicts] == [
        f"the managed file {ROOT} declares it and takes precedence"
    ]
    assert configuration.waiting == frozenset()
    assert "mine" in configuration.implications.names


@pytest.mark.parametrize(
    ("layer", "text", "reasons"),
    [
        (ConfigurationLayer.PROJECT, 'command = ["true"]', ["it runs a program"]),
        (ConfigurationLayer.LOCAL, 'command = ["true"]', ["it runs a program"]),
        (ConfigurationLayer.MACHINE, 'command = ["true"]', ["it runs a program"]),
        (
            ConfigurationLayer.PROJECT,
            'git = "dirty"',
            ["it starts git, which runs what the repository's settings name"],
        ),
        (
            ConfigurationLayer.MANAGED,
            'git = "clean"',
            ["it starts git, which runs what the repository's settings name"],
        ),
        (ConfigurationLayer.PROJECT, 'http = "https://shop.test/"', ["it reaches a server"]),
        (ConfigurationLayer.MACHINE, 'http = "https://shop.test/"', []),
        (ConfigurationLayer.PROJECT, 'git = "merging"', []),
    ],
)
def test_what_runs_something_in_a_workspace_waits_for_trust(
    layer: ConfigurationLayer, text: str, reasons: list[str]
) -> None:
    said = [of(layer, SHARED, f"[states.x]\n{text}")]
    configuration = combine(said, {})
    assert [reason for each in configuration.trust_requests for reason in each.reasons] == reasons
    assert configuration.states["x"].may_run is (not reasons)
    assert trusting(said).states["x"].may_run


def test_trust_ends_with_any_change_of_what_would_run() -> None:
    before = combine([project('[states.x]\ncommand = ["true"]')], {}).trust_requests[0]
    trusted = {(SHARED, "x"): before.digest}
    for text in (
        'command = ["false"]',
        'command = ["true"]\nexit = 1',
        'command = ["true"]\nimplies = ["y"]',
    ):
        (after,) = combine([project(f"[states.x]\n{text}")], trusted).trust_requests
        assert (after.is_trusted, after.is_changed) == (False, True)
    (same,) = combine(
        [project('[states.x]\ndescription = "new"\ncommand = ["true"]')], trusted
    ).trust_requests
    assert (same.is_trusted, same.is_changed) == (True, False)


def test_a_project_opens_no_state_of_yours_to_agents_until_that_is_trusted() -> None:
    mine = machine('[states.ready]\nkind = "workflow"')
    text = '[states.ready]\nkind = "workflow"'
    said = [mine, project(f"{text}\nagents = true")]
    configuration = combine(said, {})
    assert not configuration.states["ready"].entry.agents
    (request,) = configuration.trust_requests
    assert request.reasons == (
        f"it redefines what the machine file {HOME} declares",
        "it lets agents set, clear or push it",
    )
    assert trusting(said).states["ready"].entry.agents
    (before,) = combine([mine, project(text)], {}).trust_requests
    (after,) = combine(said, {(SHARED, "ready"): before.digest}).trust_requests
    assert after.is_changed


def test_a_project_may_open_its_own_states_to_agents() -> None:
    configuration = combine([project("[states.x]\npush = true\nagents = true")], {})
    assert configuration.states["x"].entry.agents
    assert configuration.trust_requests == ()


def test_a_circle_through_several_files_counts_nowhere_and_is_said() -> None:
    said = [
        project('[states.a]\nfile = "a"\nimplies = ["b"]'),
        project('[states.b]\nfile = "b"\nimplies = ["a"]', "/code/shop/web/remit.toml"),
    ]
    configuration = combine(said, {})
    assert [each.name for each in configuration.conflicts] == ["a", "b"]
    assert "imply each other in a circle" in configuration.conflicts[0].reason
    assert configuration.implications.close({"a": HOLDS})["b"] == StateValue(
        False, "nothing that implies it holds"
    )
    assert configuration.implications.close({"typescript-project": HOLDS})["node-project"].truth


@pytest.mark.parametrize(
    ("layer", "path"), [(ConfigurationLayer.MACHINE, HOME), (ConfigurationLayer.MANAGED, ROOT)]
)
def test_a_circle_with_what_is_built_in_counts_nowhere(layer: ConfigurationLayer, path: str) -> None:
    text = '[states.node-project]\nfile = "x"\nimplies = ["typescript-project"]'
    closed = combine([of(layer, path, text)], {}).implications.close({"node-project": HOLDS})
    assert not closed["typescript-project"].truth


def test_tools_move_workflow_states() -> None:
    configuration = combine([project('[states.x]\non = ["a", "b"]\noff = "c"')], {})
    assert [*configuration.transitions] == [
        Transition("a", "x", True),
        Transition("b", "x", True),
        Transition("c", "x", False),
    ]


def test_paths_of_a_projects_file_are_relative_to_it_and_others_to_the_workspace() -> None:
    web = Workspace(dir="/code/shop/web", checkout="/code/shop", project=identify("/code/shop"))
    assert base_dirs(ConfigurationFile(ConfigurationLayer.PROJECT, SHARED, "/code/shop"), web) == (
        "/code/shop",
    )
    assert base_dirs(ConfigurationFile(ConfigurationLayer.MACHINE, HOME), web) == (
        "/code/shop/web",
        "/code/shop",
    )
    assert base_dirs(ConfigurationFile(ConfigurationLayer.MACHINE, HOME), SHOP) == ("/code/shop",)


def test_a_file_alone_must_have_no_circle_and_only_conditions_that_can_be_read() -> None:
    content = project(
        """
        [states.a]
        file = "a"
        implies = ["b"]
        [states.b]
        file = "b"
        implies = ["a"]
        [tools.x]
        when = "state('a') &&\\n &&"
        [tools.y]
        states = { any = [] }
        location = { pages = ["/a//b"] }
        """
    ).content
    found = mistakes_in(content)
    assert [each.path for each in found] == [
        ("states",),
        ("tools", "x", "when"),
        ("tools", "y", "states"),
        ("tools", "y", "location"),
    ]
    assert (found[1].line, found[1].column) == (2, 2)
    assert (found[2].line, found[2].column) == (0, 0)


def test_names_that_nobody_declares_are_told_with_what_was_meant() -> None:
    text = """
        [tools.x]
        when = "state('git-initializd') || env.STAGE == 'dev'"
        [tools.y]
        states = ["nothing-like-it"]
        [tools.z]
        when = "git.branch > 3"
        [tools.never]
        location = { pages = ["/a"] }
        when = "location.page == '/b'"
        """
    assert wrong(project(text)) == [
        f"{SHARED} tools.x.when: unknown state `git-initializd`",
        f"{SHARED} tools.x.when: unknown variable `env.STAGE`",
        f"{SHARED} tools.y.states: unknown state `nothing-like-it`",
        f"{SHARED} tools.z.when: `git.branch > 3` compares a string with an int",
        f"{SHARED} tools.never.when: `location.page == '/b'` and `matchPath(location.page, '/a')` "
        "can never both hold",
    ]
    assert wrong(project('[tools.x]\nnamespace = "n"')) == []
    assert wrong(machine('env = ["STAGE"]\n[tools.x]\nwhen = "env.STAGE == \'dev\'"')) == []


def test_a_condition_that_cannot_be_read_is_told_of_its_file_alone() -> None:
    assert wrong(project('[tools.x]\nwhen = "&&"')) == []


def test_a_rule_of_the_machine_may_not_ask_for_what_only_a_project_declares() -> None:
    asks = machine('[tools.x]\nstates = ["mine"]')
    assert wrong(asks, project('[states.mine]\nfile = "x"')) == [
        f"{HOME} tools.x.states: unknown state `mine`"
    ]
    own = combine(
        [machine('[states.m]\nglob = "*"\ncount = 1'), project('[states.p]\nglob = "*"\ncount = 1')], {}
    )
    seen = {
        layer: vocabulary(own, ConfigurationFile(layer, ""))
        for layer in (ConfigurationLayer.MACHINE, ConfigurationLayer.PROJECT)
    }
    assert "p" not in seen[ConfigurationLayer.MACHINE].states
    assert seen[ConfigurationLayer.MACHINE].variables["entities"] == {"m": "int"}
    assert seen[ConfigurationLayer.PROJECT].variables["entities"] == {"m": "int", "p": "int"}


def test_a_project_may_ask_for_its_state_that_waits_for_trust() -> None:
    waiting = '[states."git-initialized.x"]\nfile = "x"\n[tools.x]\nstates = ["git-initialized.x"]'
    assert wrong(project(waiting)) == [
        f"{SHARED} states.git-initialized.x: it implies `git-initialized`, which Remit itself declares"
    ]


def test_a_state_that_nothing_can_make_true_is_told() -> None:
    assert wrong(project('[states.x]\ndescription = "d"\n[states."y.z"]\nfile = "z"\n[states.y]')) == [
        f"{SHARED} states.x: it has no detector, and no state implies it: nothing makes it true"
    ]
    assert wrong(project('[states.x]\nfile = "x"\nimplies = ["dockr", "other"]')) == [
        f"{SHARED} states.x.implies: `dockr` is not declared"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('file = "a"', "create a"),
        ('directory = "a"', "create a"),
        ('glob = "*.md"', "create a file that matches *.md"),
        ('env = "CI"', "set the variable CI"),
        ('value = { file = "a.json", at = "x.y" }', "set x.y in a.json"),
        ("push = true", "have the application push `x`"),
        ('git = "repository"', "run `git init`"),
        ('git = { branch = "main" }', "check out main"),
        ('git = "merging"', None),
        ('git = "clean"', "commit what is changed"),
        ('git = "dirty"', None),
        ('kind = "workflow"', "run `remit states set x`"),
        ('on = ["a", "b"]', "run `remit states set x`, or let a or b succeed"),
        ('command = ["true"]', None),
        ('entities = { glob = "*" }', None),
        ('description = "d"', None),
    ],
)
def test_a_person_is_told_what_would_make_a_state_true(text: str, expected: str | None) -> None:
    assert state_unlock(trusting([project(f"[states.x]\n{text}")]).states["x"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('kind = "workflow"', None),
        ('on = "a"', NextStep("set state `x` by a successful call", ("a",))),
        ('on = "a"\nagents = true', NextStep("run `remit states set x`")),
        ("push = true\nagents = true", None),
    ],
)
def test_a_model_is_told_only_what_it_can_do_itself(text: str, expected: NextStep | None) -> None:
    assert model_step(trusting([project(f"[states.x]\n{text}")]).states["x"].entry) == expected


def test_what_waits_for_trust_is_first_to_be_looked_at() -> None:
    state = combine([project('[states.x]\ncommand = ["true"]')], {}).states["x"]
    assert state_unlock(state) == "look at it with `remit trust x`, and trust it"
