"""States on the command line, as a user meets them."""

import json
from pathlib import Path

import pytest

from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    path = sandbox.project("shop")
    sandbox.write(path / ".git/HEAD", "ref: refs/heads/main\n")
    sandbox.write_state("deploy")
    sandbox.write(
        path / "remit.toml",
        """
env = ["STAGE"]
[states.editing]
description = "Somebody edits"
kind = "workflow"
[states.online]
push = true
[states.checked]
command = ["true"]
[states.here]
http = "https://shop.test/health"
[states.clean]
git = "clean"
[states.docker]
file = "remit.toml"
[tools."mcp__deploy__*"]
states = ["editing"]
""",
    )
    return path


def test_states_are_listed_with_value_reason_detector_and_file(sandbox: Sandbox, shop: Path) -> None:
    shown = sandbox.remit("states", cwd=shop)
    assert shown.returncode == 0
    lines = {line.split()[0]: line for line in shown.stdout.splitlines() if line.startswith("  ")}
    assert lines["editing"].split()[1:] == ["false", "not", "set", "workflow", "remit.toml"]
    assert lines["git-initialized"].endswith("git        built in")
    assert lines["checked"].split()[1] == "unknown"
    told = json.loads(sandbox.remit("states", "--json", cwd=shop).stdout)
    states = {state["name"]: state for state in told["states"]}
    assert states["editing"] == {
        "name": "editing",
        "value": False,
        "reason": "not set",
        "kind": "workflow",
        "description": "Somebody edits",
        "detector": None,
        "layer": "project",
        "source": str(shop / "remit.toml"),
    }
    assert states["checked"]["value"] is None
    assert states["git-initialized"]["source"] is None


def test_tools_and_why_follow_the_states(sandbox: Sandbox, shop: Path) -> None:
    told = json.loads(sandbox.remit("tools", "--all", "--json", cwd=shop).stdout)
    assert (told["states"]["editing"], told["states"]["online"], told["states"]["git-initialized"]) == (
        False,
        None,
        True,
    )
    assert told["tools"][0]["gate"] == "state"
    why = sandbox.remit("why", "deploy", cwd=shop).stdout
    assert "needs state editing (false: not set)" in why
    assert "to change it: run `remit states set editing`, or change remit.toml line 17\n" in why
    assert sandbox.remit("states", "set", "editing", cwd=shop).stdout == "set editing\n"
    told = json.loads(sandbox.remit("why", "deploy", "--json", cwd=shop).stdout)
    assert told["gates"][-2] == {
        "gate": "state",
        "passed": True,
        "reason": "its required states hold",
    }
    assert sandbox.remit("states", "clear", "editing", cwd=shop).stdout == "cleared editing\n"
    assert "mcp__deploy__*" not in sandbox.remit("tools", cwd=shop).stdout


def test_why_names_the_line_of_one_condition_and_of_the_rule_where_it_has_several(
    sandbox: Sandbox, shop: Path
) -> None:
    when = "when = \"git.branch == 'release'\"\n"
    for more, line in (("", 2), ('states = ["docker"]\n', 1)):
        sandbox.write(shop / "remit.toml", f'[tools."mcp__deploy__*"]\n{when}{more}')
        assert f", or change remit.toml line {line}\n" in sandbox.remit("why", "deploy", cwd=shop).stdout


def test_state_still_works_as_the_former_name_and_is_not_listed(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("state", "set", "editing", cwd=shop).stdout == "set editing\n"
    assert sandbox.remit("state", "clear", "editing", cwd=shop).stdout == "cleared editing\n"
    assert "\n  state " not in sandbox.remit("--help", cwd=shop).stdout


def test_the_project_may_stand_before_or_behind_what_is_done(sandbox: Sandbox, shop: Path) -> None:
    before = sandbox.remit("states", "--project", str(shop), "set", "editing")
    assert (before.returncode, before.stdout) == (0, "set editing\n")
    behind = sandbox.remit("states", "clear", "editing", "--project", str(shop))
    assert behind.stdout == "cleared editing\n"


def test_states_are_pushed_as_json(sandbox: Sandbox, shop: Path) -> None:
    pushed = sandbox.remit(
        "states", "push", "--json", '{"online": true, "location": {"page": "/x"}}', cwd=shop
    )
    assert pushed.stdout == "pushed online, location\n"
    told = json.loads(sandbox.remit("tools", "--json", cwd=shop).stdout)
    assert told["states"]["online"] is True
    assert sandbox.remit("states", "push", "--json", "-", cwd=shop, stdin='{"online": null}').returncode == 0
    told = json.loads(sandbox.remit("tools", "--json", cwd=shop).stdout)
    assert told["states"]["online"] is None


@pytest.mark.parametrize(
    ("arguments", "act"),
    [
        (("set", "editing"), "set"),
        (("clear", "editing"), "clear"),
        (("push", "--json", '{"online": true}'), "push"),
        (("push", "--json", '{"location": {"page": "/x"}}'), "push"),
    ],
)
def test_an_agents_command_changes_no_state(
    sandbox: Sandbox, shop: Path, arguments: tuple[str, ...], act: str
) -> None:
    sandbox.variables["CLAUDECODE"] = "1"
    for group in ("states", "state"):
        done = sandbox.remit(group, *arguments, cwd=shop)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"Claude Code runs this command, and only a person can {act} a state" in done.stderr
    states = json.loads(sandbox.remit("tools", "--json", cwd=shop).stdout)["states"]
    assert (states["editing"], states["online"]) == (False, None)


def test_an_agents_command_changes_states_that_are_open_to_agents(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(
        shop / "remit.toml",
        """
[states.tested]
kind = "workflow"
agents = true
[states."tested.twice"]
kind = "workflow"
[states.online]
push = true
agents = true
""",
    )
    assert sandbox.remit("states", "set", "tested.twice", cwd=shop).returncode == 0
    sandbox.variables["CLAUDECODE"] = "1"
    assert sandbox.remit("states", "set", "tested", cwd=shop).stdout == "set tested\n"
    assert sandbox.remit("states", "push", "--json", '{"online": true}', cwd=shop).returncode == 0
    refused = sandbox.remit("states", "clear", "tested", cwd=shop)  # would clear `tested.twice`, too
    assert "only a person can clear a state" in refused.stderr
    with_location = '{"online": false, "location": {"page": "/x"}}'
    assert sandbox.remit("states", "push", "--json", with_location, cwd=shop).returncode == 2
    states = json.loads(sandbox.remit("tools", "--json", cwd=shop).stdout)["states"]
    assert states["tested.twice"] is states["online"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("states", "set", "editin"),
            1,
            "error: no state is called `editin` here\nhint: did you mean `editing`?",
        ),
        (("states", "set", "docker"), 2, "error: `docker` is not set and cleared by hand"),
        (("states", "push", "--json", "{"), 2, "--json is not valid JSON"),
        (("states", "push", "--json", "[]"), 2, "--json must be an object"),
        (("states", "push", "--json", '{"editing": true}'), 2, "error: `editing` is not pushed"),
    ],
)
def test_what_cannot_be_set_is_an_error_with_a_way_out(
    sandbox: Sandbox, shop: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    run = sandbox.remit(*arguments, cwd=shop)
    assert run.returncode == code
    assert message in run.stderr


def test_states_that_run_or_change_something_are_shown_and_trusted(sandbox: Sandbox, shop: Path) -> None:
    shown = sandbox.remit("trust", cwd=shop)
    assert shown.stdout == (
        "state checked (project, remit.toml): not trusted\n"
        "  runs    true\n"
        "  it runs a program\n"
        "\n"
        "state here (project, remit.toml): not trusted\n"
        "  reaches https://shop.test/health\n"
        "  it reaches a server\n"
        "\n"
        "state clean (project, remit.toml): not trusted\n"
        "  runs    git status\n"
        "  it starts git, which runs what the repository's settings name\n"
        "\n"
        "state docker (project, remit.toml): not trusted\n"
        "  it redefines what Remit itself declares\n"
        "\n"
        "variables (project, remit.toml): not trusted\n"
        "  it lets conditions compare and show STAGE\n"
    )
    assert sandbox.remit("trust", "checked", cwd=shop).returncode == 2  # nobody to ask
    trusted = sandbox.remit("trust", "checked", "docker", "--yes", cwd=shop)
    assert trusted.stdout == "trusted: state checked\ntrusted: state docker\n"
    told = json.loads(sandbox.remit("trust", "--json", cwd=shop).stdout)
    assert {state["name"]: state["trusted"] for state in told["states"]} == {
        "checked": True,
        "here": False,
        "clean": False,
        "docker": True,
        "[env]": False,
    }
    assert told["states"][0]["command"] == ["true"]
    states = json.loads(sandbox.remit("tools", "--json", cwd=shop).stdout)["states"]
    assert (states["checked"], states["docker"]) == (True, True)
    assert sandbox.remit("trust", "--revoke", "checked", cwd=shop).stdout == "not trusted: state checked\n"
    unknown = sandbox.remit("trust", "nothing", "--yes", cwd=shop)
    assert unknown.returncode == 1
    assert "nothing called `nothing` needs your trust" in unknown.stderr


def test_servers_and_states_are_trusted_together(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / ".mcp.json", {"mcpServers": {"till": {"command": "till"}}})
    shown = sandbox.remit("trust", cwd=shop).stdout
    assert shown.startswith("till (project, .mcp.json): not trusted\n  runs    till\n")
    assert "\n\nstate checked " in shown
    trusted = sandbox.remit("trust", "till", "checked", "--yes", cwd=shop).stdout
    assert trusted == "trusted: till\ntrusted: state checked\n"


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        ("tools",),
        ("why", "deploy"),
        ("states",),
        ("scan",),
        ("context",),
        ("clients",),
        ("search", "deploy"),
        ("trust",),
        ("states", "set", "editing"),
        ("states", "clear", "editing"),
        ("states", "push", "--json", "{}"),
    ],
)
def test_every_command_warns_of_a_broken_configuration_and_goes_by_the_last_good_one(
    sandbox: Sandbox, shop: Path, command: tuple[str, ...]
) -> None:
    sandbox.remit("tools", cwd=shop)
    sandbox.write(shop / "remit.toml", "[states.editing]\nkid = 'workflow'\n")
    run = sandbox.remit(*command, cwd=shop)
    assert (
        "warning: remit.toml: line 2 column 1: states.editing.kid: `kid` is not a known key "
        "(did you mean `kind`?); using the last valid version\n"
    ) in run.stderr
    assert run.returncode in (0, 1)
    assert "error:" not in run.stderr
