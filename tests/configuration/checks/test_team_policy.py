"""The rules of a team: what they may contain, and how strong they are."""

import pytest

from remit.configuration.checks.team_policy import policy_problems
from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile
from remit.configuration.file_parser import read
from remit.configuration.layers import combine, owner, session_settings
from remit.configuration.policy_compiler import compile_policy
from remit.files.formats import parse_toml


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[states.here]\nfile = "x"\n', "states.here.file: a team's project has no files"),
        ('[states.here]\ncommand = ["x"]\n', "states.here.command: a team's project has no files"),
        ('env = ["HOST"]\n', "env: a team cannot show the variables of nodes"),
        ('[filters]\nfiles = ["/x.py"]\n', "filters.files: a team cannot name filter files"),
        ('[memory]\nprojects = ["*"]\n', "memory.projects: a team cannot open other memories"),
        ("notifications = false\n", "notifications: a team cannot set the notifications of nodes"),
        ('store = "postgresql://x/y"\n', "store: a team cannot choose the store"),
        ('[tools.x]\nstats = ["a"]\n', "`stats` is not a known key (did you mean `states`?)"),
        ("[tools\n", "line 1"),
        ("#" * (2**20 + 1), "larger than 1,048,576 bytes"),
        ('[identity]\nissuer = "https://login.example.com"\naudience = "remit"\n', "who uses the gateway"),
        ('[[access]]\nprincipal = "eve"\nrole = "admin"\nprojects = ["*"]\n', "who uses the gateway"),
        ("[limits]\ncalls_per_minute = 1\n", "who uses the gateway"),
        ('[retention]\naudit = "1d"\n', "how long records are kept"),
    ],
)
def test_a_team_cannot_set_what_belongs_to_the_machines_of_nodes(text: str, told: str) -> None:
    (problem,) = policy_problems("rules.toml", text)
    assert told in f"{problem.place} {problem.reason}"


def test_a_team_can_declare_pushed_and_workflow_states_and_rules() -> None:
    text = (
        '[states.open]\npush = true\n[states.checked]\nkind = "workflow"\n'
        '[tools."till__*"]\nwhen = "state(\'open\')"\n'
    )
    assert policy_problems("rules.toml", text) == []


def loaded(layer: ConfigurationLayer, text: str) -> LoadedFile:
    content, mistakes = read(parse_toml(text))
    assert mistakes == []
    return LoadedFile(ConfigurationFile(layer, f"{layer}.toml"), content)


def test_the_rules_of_a_team_are_between_those_of_the_user_and_the_administrator() -> None:
    users = 'mode = "default"\ntoken_budget = 1000\n[suggestions]\nenabled = true\n'
    teams = 'mode = "plan"\ntoken_budget = 2000\n[suggestions]\nenabled = false\n'
    files = [loaded(ConfigurationLayer.MACHINE, users), loaded(ConfigurationLayer.TEAM, teams)]
    managed = loaded(ConfigurationLayer.MANAGED, 'mode = "default"\ntoken_budget = 3000\n')
    policy = compile_policy(files, {}).policy
    assert policy.mode is not None
    assert (policy.mode.mode, policy.mode.origin.path) == ("plan", "team.toml")
    assert combine(files, {}).token_budget == 2000
    assert session_settings(files).hints is False
    assert combine([*files, managed], {}).token_budget == 3000
    fixed = compile_policy([*files, managed], {}).policy.fixed_mode
    assert fixed is not None
    assert owner(files[1].file) == "the team file team.toml"


def test_the_implications_of_a_team_are_dropped_after_those_of_the_user_in_a_cycle() -> None:
    files = [
        loaded(ConfigurationLayer.TEAM, '[states.a]\npush = true\nimplies = ["b"]\n'),
        loaded(ConfigurationLayer.MANAGED, '[states.b]\npush = true\nimplies = ["a"]\n'),
    ]
    (conflict,) = combine(files, {}).conflicts
    assert conflict.file.layer is ConfigurationLayer.TEAM
