"""States in a workspace: found out, set and pushed, and the tools that they show and hide."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from remit.decision.context import Context
from remit.decision.decide import Verdict
from remit.decision.gates import Gate
from remit.decision.state_snapshot import StateValue
from remit.errors import StateError, UnknownStateError
from remit.registry import Registry
from remit.upstream.upstream_model import Offer, Upstream
from support.databases import run_sql
from support.sandbox import Sandbox

SUPERNAL = """
[states.project-loaded]
description = "A supernal project is loaded"
file = "supernal.yaml"

[states.has-requirements]
glob = "requirements/**/*.md"

[states."project.requirements.editing"]
kind = "workflow"
on = "requirement.create"

[tools."requirement.*"]
states = ["project-loaded"]
namespace = "requirement"

[tools."requirement.create"]
states = ["project-loaded", "git-initialized"]
danger = "moderate"
approval = true

[tools."requirement.save"]
states = ["project.requirements.editing"]

[tools."user.delete"]
ai_enabled = false
danger = "destructive"

[tools."mcp__deploy__*"]
when = "state('git-initialized') && git.branch != 'main'"

[tools."publishPost"]
location = { pages = ["/blog", "/posts/**"] }
"""
TOOLS = ("requirement.list", "requirement.create", "requirement.save", "user.delete", "publishPost")


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    return sandbox.project("shop", git=False)


@pytest.fixture
def registry(sandbox: Sandbox) -> Registry:
    return sandbox.registry()


class Nobody:
    def ask(self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]) -> list[Offer]:
        raise AssertionError(f"{upstreams} started for {on_answer}")


def visible(registry: Registry, at: Context) -> set[str]:
    return {tool.name for tool, decision in registry.tools(at) if decision.is_available}


def value(registry: Registry, at: Context, name: str) -> StateValue:
    return registry.states.snapshot(at).state(name)


def test_the_tools_of_a_project_follow_what_is_going_on_in_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    sandbox.write(shop / "remit.toml", SUPERNAL)
    here = registry.at(str(shop))
    for name in TOOLS:
        registry.usage.report_tool(name, here, description=f"Does {name}.")
    assert visible(registry, here) == set()

    sandbox.write(shop / "supernal.yaml", "name: shop")
    assert visible(registry, here) == {"requirement.list"}

    sandbox.write(shop / ".git/HEAD", "ref: refs/heads/main\n")
    here = registry.at(str(shop))
    assert visible(registry, here) == {"requirement.list", "requirement.create"}

    registry.usage.record("requirement.create", here, call_id="1", succeeded=True)
    assert "requirement.save" in visible(registry, here)

    sandbox.write(shop / ".git/HEAD", "ref: refs/heads/feature\n")
    assert "mcp__deploy__*" in visible(registry, here)

    registry.location.set(here, page="/posts/42")
    assert "publishPost" in visible(registry, here)
    registry.location.set(here, page="/users")
    assert "publishPost" not in visible(registry, here)


def test_what_is_missing_is_said_with_what_would_bring_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / "remit.toml", SUPERNAL)
    here = registry.at(str(shop))
    registry.usage.report_tool("requirement.create", here)
    explained = registry.explain("requirement.create", here)
    assert explained.decision.verdict is Verdict.HIDDEN
    assert explained.decision.gate is Gate.STATE
    assert explained.decision.reason == "state `project-loaded` does not hold"
    assert explained.decision.full_reason == "needs state project-loaded (false: no supernal.yaml in shop)"
    assert explained.decision.unlock == "create supernal.yaml, or change remit.toml line 14"


def test_a_pattern_of_a_server_covers_its_tools_however_it_is_written(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy", "wiki")
    here = registry.at(str(shop))
    registry.usage.record("mcp__deploy__start", here)
    for pattern in ("mcp__deploy__*", "deploy__*", "mcp__remit__deploy__*"):
        sandbox.write(shop / "remit.toml", f'[tools."{pattern}"]\nstates = ["docker"]')
        assert visible(registry, here) == {"mcp__wiki__*"}, pattern
    sandbox.write(shop / "remit.toml", '[tools."mcp__deploy__start"]\nstates = ["docker"]')
    assert visible(registry, here) == {"mcp__wiki__*", "mcp__deploy__*"}


def test_a_server_that_the_state_hides_is_not_started(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    sandbox.write(shop / "remit.toml", '[tools."mcp__deploy__*"]\nstates = ["docker"]')

    assert registry.servers.connect(registry.at(str(shop)), Nobody()) == []


def test_one_request_sees_one_snapshot(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write_state("deploy")
    sandbox.write(shop / "remit.toml", '[tools."mcp__deploy__*"]\nstates = ["docker"]')
    before = registry.states.with_snapshot(registry.at(str(shop)))
    sandbox.write(shop / "Dockerfile", "")
    assert visible(registry, before) == set()
    assert registry.states.snapshot(before).state("docker").truth is False
    assert visible(registry, registry.at(str(shop))) == {"mcp__deploy__*"}


def test_states_and_rules_of_one_project_never_count_in_another(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    blog = sandbox.project("blog")
    sandbox.write(
        shop / "remit.toml",
        '[states.editing]\nkind = "workflow"\n[states.online]\npush = true\n'
        '[tools."*"]\nstates = ["editing"]',
    )
    here, there = registry.at(str(shop)), registry.at(str(blog))
    registry.states.set("editing", here)
    registry.states.push({"online": True, "location": {"page": "/x"}}, here)
    assert "editing" not in registry.states.snapshot(there).states
    assert registry.states.snapshot(there).values["location"] == {}
    assert visible(registry, there) == {"mcp__deploy__*"}
    assert registry.problems(there) == []
    sandbox.write(blog / "remit.toml", '[states.editing]\nkind = "workflow"\n[states.online]\npush = true')
    assert value(registry, there, "editing") == StateValue(False, "not set")
    assert value(registry, there, "online") == StateValue(None, "nothing was pushed")
    assert value(registry, here, "editing").truth


def test_the_files_of_other_directories_do_not_count(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    (shop / ".git").mkdir()
    (shop / "web").mkdir()
    sandbox.write(shop / "remit.toml", '[states.x]\nfile = "root"\n[states.y]\nfile = "root"')
    sandbox.write(shop / "web/remit.toml", '[states.x]\nfile = "near"')
    sandbox.write(shop / "root", "")
    assert value(registry, registry.at(str(shop)), "x") == StateValue(True, "root exists")
    in_web = registry.at(str(shop / "web"))
    assert value(registry, in_web, "x") == StateValue(False, "no near in shop/web")
    assert value(registry, in_web, "y") == StateValue(
        True, "root exists"
    )  # relative to the file that says so


def test_forgetting_a_project_erases_what_is_known_of_its_states(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(
        shop / "remit.toml",
        '[states.editing]\nkind = "workflow"\n[states.online]\npush = true\n[states.docs]\nglob = "*.md"\n'
        '[states.dirty]\ngit = "dirty"',
    )
    here = registry.at(str(shop))
    registry.states.set("editing", here)
    registry.states.push({"online": True}, here)
    registry.configuration.trust(registry.configuration.trust_requests(here.workspace), here.workspace)
    registry.states.snapshot(here)
    tables = (
        "configuration_files", "configurations", "configuration_trust", "workflow_states", "pushed_states",
        "observations",
    )  # fmt: skip
    assert all(run_sql(sandbox.database, f"select 1 from {table}") for table in tables)  # noqa: S608
    registry.projects.forget(registry.projects.find(str(shop)))
    assert not any(run_sql(sandbox.database, f"select 1 from {table}") for table in tables)  # noqa: S608


def test_the_users_own_states_count_everywhere_and_survive_forgetting(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[states.x]\nfile = "x"')
    here = registry.at(str(shop))
    assert value(registry, here, "x").truth is False
    registry.projects.forget(registry.projects.find(str(shop)))
    assert value(registry, registry.at(str(sandbox.project("blog"))), "x").truth is False


def test_a_variable_names_another_file_of_the_user(sandbox: Sandbox, shop: Path) -> None:
    sandbox.variables["REMIT_CONFIG"] = str(
        sandbox.write(sandbox.root / "mine.toml", '[states.mine]\nfile = "x"')
    )
    registry = sandbox.registry()
    assert value(registry, registry.at(str(shop)), "mine").truth is False


def test_a_success_advances_a_workflow_once_and_a_failure_does_not(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / "remit.toml", '[states.editing]\non = "mcp__x__create"\noff = "mcp__x__save"')
    here = registry.at(str(shop))
    registry.usage.record("mcp__x__create", here, call_id="1", succeeded=False)
    registry.usage.record("mcp__x__create", here, call_id="2")
    assert value(registry, here, "editing").truth is False
    registry.usage.record("mcp__x__create", here, call_id="2", succeeded=True)  # its outcome becomes known
    assert value(registry, here, "editing") == StateValue(True, "set by mcp__x__create")
    registry.usage.record(
        "mcp__remit__x__save", here, call_id="3", succeeded=True
    )  # as a client of the gateway says it
    assert value(registry, here, "editing").truth is False
    registry.usage.record("mcp__x__create", here, call_id="2", succeeded=True)  # told again
    assert value(registry, here, "editing").truth is False


@pytest.mark.sqlite_only
def test_a_hook_that_lives_for_one_use_advances_a_workflow_too(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", '[states.editing]\non = "mcp__x__create"')
    script = 'import remit; remit.record_use("mcp__x__create", succeeded=True)'
    for _ in range(2):  # the second time nothing has to be read again
        subprocess.run([sys.executable, "-c", script], cwd=shop, env=sandbox.environment, check=True)
    with sandbox.registry() as registry:
        assert value(registry, registry.at(str(shop)), "editing").truth


def test_a_dotted_name_implies_its_ancestors_and_clearing_one_clears_what_implies_it(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    text = '[states."a.b.c"]\nkind = "workflow"\n[states."a.b"]\nkind = "workflow"\n'
    sandbox.write(shop / "remit.toml", text + '[states.other]\nkind = "workflow"\nimplies = ["a.b"]')
    here = registry.at(str(shop))
    registry.states.set("a.b.c", here)
    registry.states.set("other", here)
    assert all(value(registry, here, name).truth for name in ("a", "a.b", "a.b.c"))
    assert sorted(registry.states.clear("a.b", here)) == ["a.b", "a.b.c", "other"]
    assert not any(value(registry, here, name).truth for name in ("a", "a.b", "a.b.c", "other"))


def test_what_was_pushed_expires_to_unknown(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(shop / "remit.toml", "[states.online]\npush = true\nlifetime = 5")
    here = registry.at(str(shop))
    registry.states.push({"online": True}, here)
    registry.location.set(here, page="/x", components=["a"], depth=1)
    assert value(registry, here, "online") == StateValue(True, "pushed by the host application")
    sandbox.time += 6_000
    assert value(registry, here, "online") == StateValue(None, "the pushed value has expired")
    assert registry.states.snapshot(here).values["location"] == {
        "page": "/x",
        "components": ["a"],
        "depth": 1,
    }
    sandbox.time += 60_000
    assert registry.states.snapshot(here).values["location"] == {}
    registry.states.push({"online": False}, here)
    assert value(registry, here, "online").truth is False
    registry.states.push({"online": None}, here)
    assert value(registry, here, "online") == StateValue(None, "nothing was pushed")
    registry.location.set(here, page="/x")
    registry.location.clear(here)
    assert registry.states.snapshot(here).values["location"] == {}


NESTED: list[object] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    ("pushed", "error"),
    [
        ({"nothing": True}, UnknownStateError),
        ({"docker": True}, StateError),
        ({"online": "yes"}, StateError),
        ({"location": 3}, StateError),
        ({"location": {"page": "x" * 70_000}}, StateError),
        ({"location": {"selected": NESTED}}, StateError),
        ({"location": {"selected": {"a": object()}}}, StateError),
        ({"location": {"selected": {1: 2}}}, StateError),
    ],
)
def test_what_cannot_be_pushed_is_an_error_and_changes_nothing(
    sandbox: Sandbox, shop: Path, registry: Registry, pushed: dict[str, object], error: type[StateError]
) -> None:
    sandbox.write(shop / "remit.toml", "[states.online]\npush = true")
    here = registry.at(str(shop))
    with pytest.raises(error):
        registry.states.push({"online": True, **pushed}, here)
    assert value(registry, here, "online").truth is None


def test_only_workflow_states_are_set_by_hand(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(shop / "remit.toml", '[states.editing]\nkind = "workflow"')
    here = registry.at(str(shop))
    with pytest.raises(UnknownStateError, match="no state is called `editin` here") as unknown:
        registry.states.set("editin", here)
    assert unknown.value.hint == "did you mean `editing`?"
    with pytest.raises(StateError, match="`docker` is not set and cleared by hand: it is found by `file`"):
        registry.states.clear("docker", here)


def test_a_state_that_others_imply_is_cleared_with_them_and_cannot_be_set(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / "remit.toml", '[states."project.editing"]\nkind = "workflow"')
    here = registry.at(str(shop))
    registry.states.set("project.editing", here)
    with pytest.raises(StateError, match="`project` is only implied by others"):
        registry.states.set("project", here)
    assert value(registry, here, "project").truth is True
    assert registry.states.clear("project", here) == ["project.editing"]
    assert value(registry, here, "project").truth is False


def test_a_slow_answer_is_kept_for_its_lifetime(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(
        shop / "remit.toml",
        '[states.docs]\nglob = "*.md"\nlifetime = 5\n[tools.x]\nwhen = "entities.docs > 0"',
    )
    here = registry.at(str(shop))
    assert value(registry, here, "docs").truth is False
    sandbox.write(shop / "a.md", "")
    assert value(registry, here, "docs").truth is False
    sandbox.time += 6_000
    assert value(registry, here, "docs") == StateValue(True, "1 match *.md")


def test_a_value_is_looked_for_again_as_soon_as_its_file_changes(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write(shop / "remit.toml", '[states.x]\nvalue = { file = "a.json", at = "x", equals = 1 }')
    here = registry.at(str(shop))
    assert value(registry, here, "x").truth is False
    sandbox.write(shop / "a.json", {"x": 1})
    assert value(registry, here, "x").truth is True
    sandbox.later_ns = 10**10  # the file has settled
    assert value(registry, here, "x").truth is True
    assert value(registry, here, "x").truth is True


def test_only_one_at_a_time_finds_a_slow_state_out(sandbox: Sandbox, shop: Path, registry: Registry) -> None:
    sandbox.write(shop / "remit.toml", '[states.docs]\nglob = "*.md"\nlifetime = 5')
    sandbox.write(shop / "a.md", "")
    here = registry.at(str(shop))
    assert value(registry, here, "docs").truth is True
    sandbox.time += 6_000
    busy = "update observations set claimed_until = "
    run_sql(sandbox.database, busy + str(sandbox.time + 3_000))
    (shop / "a.md").unlink()
    assert value(registry, here, "docs").truth is True  # what was last found stands in
    run_sql(sandbox.database, busy + str(sandbox.time + 3_000) + ", observed_at = 0")
    assert value(registry, here, "docs") == StateValue(None, "another process is checking it")
    sandbox.time += 4_000  # whoever did has died
    assert value(registry, here, "docs").truth is False


def test_nothing_of_a_project_runs_until_it_is_trusted(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    script = f"open({str(shop / 'ran')!r}, 'w')"
    command = (
        f"[states.x]\ncommand = [{json.dumps(sys.executable)}, '-c', {json.dumps(script)}]\ntimeout = 30"
    )
    sandbox.write(shop / "remit.toml", command)
    here = registry.at(str(shop))
    assert value(registry, here, "x") == StateValue(None, "waits for your trust: `remit trust x` shows it")
    assert not (shop / "ran").exists()
    registry.configuration.trust(registry.configuration.trust_requests(here.workspace, ["x"]), here.workspace)
    assert value(registry, here, "x").truth is True
    assert (shop / "ran").exists()
    registry.configuration.revoke(registry.configuration.trust_requests(here.workspace), here.workspace)
    assert value(registry, here, "x").truth is None
    registry.configuration.trust(registry.configuration.trust_requests(here.workspace), here.workspace)
    sandbox.write(shop / "remit.toml", command + "\nexit = 1")
    assert value(registry, here, "x").truth is None
    (request,) = registry.configuration.trust_requests(here.workspace)
    assert request.is_changed


def test_a_project_may_not_say_anew_what_the_user_says_until_it_is_trusted(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    mine = sandbox.write(
        sandbox.home / ".config/remit/remit.toml",
        '[states.admin]\nfile = "never"\n[tools."mcp__deploy__*"]\nstates = ["admin"]',
    )
    theirs = sandbox.write(
        shop / "remit.toml",
        '[states.admin]\nfile = "remit.toml"\n[states."admin.x"]\nfile = "remit.toml"\n'
        '[states.z]\nfile = "remit.toml"\nimplies = ["admin"]',
    )
    here = registry.at(str(shop))
    assert visible(registry, here) == set()
    assert [(problem.source, problem.place) for problem in registry.problems(here)] == [
        (str(theirs), "line 1 column 2"),
        (str(theirs), "line 3 column 2"),
        (str(theirs), "line 5 column 2"),
    ]
    assert str(mine) in registry.problems(here)[0].reason
    assert value(registry, here, "admin.x") == StateValue(
        None, "waits for your trust: `remit trust admin.x` shows it"
    )
    registry.configuration.trust(registry.configuration.trust_requests(here.workspace), here.workspace)
    assert visible(registry, here) == {"mcp__deploy__*"}
    assert registry.problems(here) == []


def test_a_broken_file_is_named_with_its_place_and_what_it_said_before_holds(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    good = '[tools."mcp__deploy__*"]\nstates = ["docker"]\n'
    file = sandbox.write(shop / "remit.toml", good)
    here = registry.at(str(shop))
    assert visible(registry, here) == set()
    for text, place, reason in (
        (good + "x = [", "end of document", "not valid TOML"),
        (
            good + "[states.x]\nfil = 'a'",
            "line 4 column 1",
            "states.x.fil: `fil` is not a known key (did you mean",
        ),
        (good + "whn = 'a'", "line 3 column 1", 'tools."mcp__deploy__*".whn: `whn` is not a known key'),
        (good + "when = 'a &&'", "line 3 column 13", 'tools."mcp__deploy__*".when: '),
        (good + "when = 'git.branch != 3'", "line 3 column 20", 'tools."mcp__deploy__*".when: `git.branch'),
        ("\0", "line 1 column 1", "not valid TOML"),
    ):
        sandbox.write(file, text)
        (problem,) = registry.problems(here)
        assert (problem.source, problem.place) == (str(file), place)
        assert problem.reason.startswith(reason)
        assert problem.reason.endswith("; using the last valid version")
        assert visible(registry, here) == set()
    file.unlink()
    assert registry.problems(here) == []
    assert visible(registry, here) == {"mcp__deploy__*"}


@pytest.mark.sqlite_only  # in a shared store, others could have written it
def test_another_process_uses_the_last_valid_version_too(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    file = sandbox.write(shop / "remit.toml", '[tools."mcp__deploy__*"]\nstates = ["docker"]\n')
    here = registry.at(str(shop))
    assert visible(registry, here) == set()
    sandbox.write(file, "x = [")
    assert visible(sandbox.registry(), here) == set()


def test_a_file_that_is_emptied_to_be_written_loses_nothing_meanwhile(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    file = sandbox.write(shop / "remit.toml", '[tools."mcp__deploy__*"]\nstates = ["docker"]\n')
    here = registry.at(str(shop))
    assert visible(registry, here) == set()
    sandbox.write(file, "\n")
    assert visible(registry, here) == set()
    (problem,) = registry.problems(here)
    assert problem.reason == "it was emptied just now; using the last valid version"
    sandbox.later_ns = 10**11
    assert visible(registry, here) == {"mcp__deploy__*"}
    assert registry.problems(here) == []
    sandbox.later_ns = 0
    sandbox.write(file, "")
    assert registry.problems(here) == []  # there is nothing to lose


def test_of_a_broken_file_nothing_is_told_at_places_that_it_no_longer_has(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    file = sandbox.write(shop / "remit.toml", '[tools."mcp__deploy__*"]\nstates = ["dockr"]\n')
    here = registry.at(str(shop))
    assert ["unknown state" in each.reason for each in registry.problems(here)] == [True]
    sandbox.write(file, "x = [")
    assert ["unknown state" in each.reason for each in registry.problems(here)] == [False]
    (noticed,) = registry.check_policy(here)
    assert "not valid TOML" in noticed.problem.reason


@pytest.mark.parametrize("layer", ["project", "local", "machine", "managed"])
def test_a_file_that_was_never_valid_hides_all_but_built_ins(
    sandbox: Sandbox, shop: Path, registry: Registry, layer: str
) -> None:
    sandbox.write_state("deploy")
    path = {
        "project": shop / "remit.toml",
        "local": shop / "remit.local.toml",
        "machine": sandbox.home / ".config/remit/remit.toml",
        "managed": sandbox.root / "machine/etc/remit/remit.toml",
    }[layer]
    file = sandbox.write(path, "[tools.x]\nwhn = 'a'")
    here = registry.at(str(shop))
    (problem,) = registry.problems(here)
    assert problem.reason.endswith("; all tools are hidden until it is fixed")
    (item,) = registry.tools(here)
    assert (item.decision.gate, item.decision.verdict) == ("policy", "hidden")
    assert (
        "a configuration file is invalid, so all tools are hidden until it is fixed: " in item.decision.reason
    )
    assert (item.decision.unlock or "").startswith("fix ")
    assert visible(sandbox.registry(), here) == set()
    registry.usage.record("Edit", here)  # with which it can be mended
    assert visible(registry, here) == {"Edit"}
    sandbox.write(file, "")
    assert visible(registry, here) == {"Edit", "mcp__deploy__*"}
    sandbox.write(file, "x = [")  # what was good, if empty, still holds
    assert visible(registry, here) == {"Edit", "mcp__deploy__*"}
    file.unlink()
    assert visible(registry, here) == {"Edit", "mcp__deploy__*"}
    sandbox.write(file, "x = [")  # another file: nobody ever read this one
    assert visible(registry, here) == {"Edit"}


def test_who_names_the_null_device_wants_no_file_of_their_own(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", 'block = ["*"]')
    here = registry.at(str(shop))
    assert visible(registry, here) == set()
    sandbox.variables["REMIT_CONFIG"] = os.devnull
    assert visible(registry, here) == {"mcp__deploy__*"}
    assert registry.problems(here) == []


def test_a_managed_file_that_nobody_may_read_hides_all(
    sandbox: Sandbox, shop: Path, registry: Registry
) -> None:
    sandbox.write_state("deploy")
    (sandbox.root / "machine/etc/remit/remit.toml").mkdir(parents=True)
    assert visible(registry, registry.at(str(shop))) == set()


@pytest.mark.parametrize("trap", ["fifo", "link", "directory", "huge"])
def test_a_file_that_is_none_is_a_problem_and_not_waited_for(
    sandbox: Sandbox, shop: Path, registry: Registry, trap: str
) -> None:
    file = shop / "remit.toml"
    if trap == "fifo":
        os.mkfifo(file)
    elif trap == "link":
        file.symlink_to(sandbox.write(sandbox.root / "secret.toml", "hunter2 = 1"))
    elif trap == "directory":
        file.mkdir()
    else:
        sandbox.write(file, "#" * (2**20 + 1))
    (problem,) = registry.problems(registry.at(str(shop)))
    assert problem.source == str(file)
    assert "hunter2" not in problem.reason


LATER = """
import sys, time
from remit.decision.context import Context
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from remit.store.open_store import open_store
from remit.bootstrap import open_states
home, database = sys.argv[1:]
later = lambda: time.time_ns() + 10**10
states = open_states(open_store(database), Machine(home=home, variables={}), now_ns=later)
assert "x" in states.snapshot(Context(workspace=locate("."), client=None)).states
heavy = {"tomllib", "remit.conditions.parser", "subprocess", "http.client", "yaml"}
print(sorted(heavy & set(sys.modules)))
"""


def test_a_configuration_that_did_not_change_is_not_read_again(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write(shop / "remit.toml", '[states.x]\nfile = "x"')
    command = [sys.executable, "-c", LATER, str(sandbox.home), str(sandbox.root / "remit.db")]
    loaded = [
        subprocess.run(command, cwd=shop, env=sandbox.environment, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert loaded == ["['remit.conditions.parser', 'tomllib']\n", "[]\n"]
