import json
from pathlib import Path

import pytest

from support.sandbox import Sandbox

PUSH = "mcp__git__push"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    path = sandbox.project("shop")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", f'[tools."{PUSH}"]\ndanger = "critical"\n')
    return path


def test_policy_check_is_silent_where_nothing_is_wrong(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        registry.usage.report_tool(PUSH, registry.at(str(shop)))
    done = sandbox.remit("policy", "check", cwd=shop)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("No problems found.\n")


def test_policy_check_names_file_line_and_column_and_fails_on_errors_alone(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(shop / "remit.toml", 'block = ["nothing"]\n')
    notes = sandbox.remit("policy", "check", cwd=shop)
    assert notes.returncode == 0
    assert "note: line 1 column 1: block: `nothing` matches no known tool" in notes.stdout
    sandbox.write(shop / "remit.toml", 'block = ["nothing"]\nmode = "bypass"\n')
    done = sandbox.remit("policy", "check", cwd=shop)
    assert done.returncode == 1
    assert "remit.toml\n" in done.stdout
    assert "error: line 2 column 1: mode: a project cannot set a mode" in done.stdout
    assert done.stdout.endswith("1 error, 0 warnings, 2 notes\n")
    told = json.loads(sandbox.remit("policy", "check", "--json", cwd=shop).stdout)
    assert (told["errors"], told["warnings"], told["notes"]) == (1, 0, 2)
    error = next(item for item in told["findings"] if item["severity"] == "error")
    assert (error["source"], error["line"], error["column"]) == (str(shop / "remit.toml"), 2, 1)


def test_policy_check_lists_the_mistakes_of_every_kind_at_once(sandbox: Sandbox, shop: Path) -> None:
    text = 'strateg = "auto"\nmode = "yolo"\n[tools."git__*"]\nwhen = "state("\ndanger = "huge"\n'
    sandbox.write(shop / "remit.toml", f"{text}[retention]\ncalls = 5\n[filters]\nfiles = ['/x.py']\n")
    lines = sandbox.remit("policy", "check", cwd=shop).stdout.splitlines()
    told = [line for line in lines if line.startswith("  error: ")]
    assert [line.split(": ")[2] for line in told] == [
        "strateg",
        "mode",
        'tools."git__*".when',
        'tools."git__*".danger',
        "retention",
        "filters.files",
    ]
    assert "mode: a project cannot set a mode" in told[1]
    assert [line.endswith("; all tools are hidden until it is fixed") for line in told] == [
        True,
        *[False] * 5,
    ]


@pytest.mark.parametrize(
    ("rule", "place"),
    [('block = ["push"]\n', "1: block"), ("[tools.push]\napproval = true\n", "2: tools.push")],
)
def test_every_command_warns_of_a_rule_that_names_a_tool_without_its_server(
    sandbox: Sandbox, shop: Path, rule: str, place: str
) -> None:
    with sandbox.registry() as registry:
        registry.usage.report_tool(PUSH, registry.at(str(shop)))
    sandbox.write(shop / "remit.toml", rule)
    said = f"{place}: `push` has no effect, because it does not name the tool's server (write `{PUSH}`)"
    for command in (("tools",), ("why", PUSH), ("context",)):
        assert f"warning: remit.toml: line 1 column {said}\n" in sandbox.remit(*command, cwd=shop).stderr
    checked = sandbox.remit("policy", "check", cwd=shop).stdout
    assert f"warning: line 1 column {said}\n" in checked
    assert checked.endswith("0 errors, 1 warning, 0 notes\n")


def test_every_command_warns_of_a_restricted_server_whose_name_is_misspelled(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", "[servers.gti]\nsandbox = {}\n")
    said = "servers.gti: no server `gti` is known here, so `sandbox` has no effect (did you mean `git`?)\n"
    for command in (("tools",), ("scan",), ("context",), ()):
        warned = f"warning: ~/.config/remit/remit.toml: line 1 column 2: {said}"
        assert warned in sandbox.remit(*command, cwd=shop).stderr
    diagnosed = sandbox.remit("doctor", cwd=shop)
    assert (
        "  warning: line 1 column 2: servers.gti: no server `gti` is known here, so `sandbox` has no effect\n"
        "    fix: did you mean `git`?\n"
    ) in diagnosed.stdout


def test_tools_and_why_follow_the_mode(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        registry.usage.report_tool("mcp__git__commit", registry.at(str(shop)))
    usual, planning = (
        {
            item["name"]
            for item in json.loads(sandbox.remit("tools", "--json", *words, cwd=shop).stdout)["tools"]
        }
        for words in ((), ("--mode", "plan"))
    )
    assert usual - planning == {"mcp__git__commit"}
    why = sandbox.remit("why", "mcp__git__commit", "--mode", "plan", cwd=shop).stdout
    assert "mode `plan` shows nothing above `low`" in why
    assert "policy" in why
    assert sandbox.remit("tools", "--mode", "yolo", cwd=shop).returncode == 2


def test_what_is_asked_about_says_so_in_lists_and_explanations(sandbox: Sandbox, shop: Path) -> None:
    with sandbox.registry() as registry:
        registry.usage.report_tool(PUSH, registry.at(str(shop)))
    assert "tools  ask  tokens" in sandbox.remit("tools", cwd=shop).stdout
    assert f"  {PUSH} [ask] " in sandbox.remit("tools", "--all", cwd=shop).stdout
    why = sandbox.remit("why", PUSH, cwd=shop).stdout
    assert f"{PUSH}: ask, needs approval" in why
    assert "danger      asks" in why


def test_trust_shows_what_a_project_says_of_tools(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", f'[tools."{PUSH}"]\ndanger = "low"\n')
    shown = sandbox.remit("trust", cwd=shop).stdout
    assert f"rule {PUSH} (project, remit.toml): not trusted" in shown
    assert "it can lower the danger of tools to `low`" in shown
    done = sandbox.remit("trust", PUSH, "--yes", cwd=shop)
    assert done.stdout.endswith(f"trusted: rule {PUSH}\n")
    told = json.loads(sandbox.remit("trust", "--json", cwd=shop).stdout)
    assert [(item["name"], item["trusted"]) for item in told["tools"]] == [(PUSH, True)]
    assert sandbox.remit("policy", "check", cwd=shop).returncode == 0


def test_mistakes_are_told_in_the_order_of_their_lines(sandbox: Sandbox, shop: Path) -> None:
    text = 'block = "x"\n[tool.x]\na = 1\n[tools.y]\nask = 1\n'
    sandbox.write(shop / "remit.toml", text)
    lines = sandbox.remit("tools", cwd=shop).stderr.splitlines()
    told = [line.partition("remit.toml:")[2] for line in lines if "remit.toml:" in line]
    assert [place.strip().split(" column")[0] for place in told] == ["line 1", "line 2", "line 5"]
