"""Administrators create teams, their projects, servers and rules in a shared store."""

import json
from pathlib import Path

import httpx2
import pytest

from support.http_gateway import ACCEPT, HELLO
from support.postgres import Databases, needs_postgres
from support.sandbox import Sandbox
from support.served_gateway import serving
from support.teams import add_teams, set_policy

SECRET = "sk-ant-api03-" + "a1B2" * 12


@pytest.fixture
def shared(sandbox: Sandbox, databases: Databases) -> Sandbox:
    add_teams(sandbox, databases.create())
    return sandbox


def run(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.remit(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(sandbox: Sandbox, *words: str) -> str:
    done = sandbox.remit(*words)
    assert done.returncode != 0
    assert done.stdout == ""
    return done.stderr


def test_a_store_of_one_machine_has_no_teams(sandbox: Sandbox) -> None:
    told = refused(sandbox, "team", "list")
    assert "teams need a shared store in PostgreSQL" in told
    assert "hint: set `store`" in told


@needs_postgres
def test_teams_are_listed_with_their_projects_and_servers(shared: Sandbox) -> None:
    assert "created team:billing (" in run(shared, "team", "add", "billing")
    assert "served at /p/invoices/mcp" in run(shared, "team", "project", "add", "billing", "invoices")
    teams = json.loads(run(shared, "team", "list", "--json"))["teams"]
    assert [team["name"] for team in teams] == ["billing", "payments", "search"]
    (invoices,) = teams[0]["projects"]
    assert (invoices["name"], invoices["path"], len(invoices["hash"])) == (
        "invoices",
        "team:billing/invoices",
        16,
    )
    assert (teams[1]["servers"], teams[1]["has_policy"]) == (["till"], False)
    assert "api, web" in run(shared, "team", "list")


@needs_postgres
def test_an_empty_store_lists_no_teams_and_no_servers(sandbox: Sandbox, databases: Databases) -> None:
    sandbox.variables["REMIT_STORE"] = databases.create()
    assert run(sandbox, "team", "list") == "No teams.\n"
    run(sandbox, "team", "add", "billing")
    assert run(sandbox, "team", "server", "list", "billing") == "No servers.\n"


@pytest.mark.long
@needs_postgres
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "payments"), "a team `payments` already exists"),
        (("add", "Pay Ments"), "use up to 64 lowercase letters"),
        (("project", "add", "payments", "remit.toml"), "use up to 64 lowercase letters"),
        (("project", "add", "payments", "index"), "`team:search/index` already has this name"),
        (("project", "add", "paymets", "new"), "did you mean `payments`?"),
        (("project", "remove", "apl", "--yes"), "did you mean `api`?"),
        (("server", "remove", "payments", "ranker"), "team:payments has no server `ranker`"),
        (("server", "add", "payments", "x"), "name either a command after `--`, or a URL"),
        (
            ("server", "add", "payments", "x", "--env", "A=1", "--url", "https://x.y"),
            "--env for a command",
        ),
        (("server", "add", "payments", "x", "--header", "A", "--url", "https://x.y"), "as NAME=VALUE"),
        (("server", "add", "payments", "a b", "--", "x"), "a server name may have"),
        (
            ("server", "add", "payments", "x", "--", ""),
            "is not a valid server: command: must not be empty",
        ),
        (("server", "add", "payments", "x", "--", "remit", "serve"), "starts Remit itself"),
        (("policy", "show", "paymets"), "did you mean `payments`?"),
        (("policy", "set", "payments", "/nowhere/remit.toml"), "there is no file `/nowhere/remit.toml`"),
        (("policy", "set", "payments", "/"), "`/`:"),
    ],
)
def test_mistakes_are_refused_with_the_reason(shared: Sandbox, words: tuple[str, ...], told: str) -> None:
    assert told in " ".join(refused(shared, "team", *words).split())


@needs_postgres
def test_the_store_keeps_variables_instead_of_secrets(shared: Sandbox) -> None:
    words = ("team", "server", "add", "search", "wiki", "--url", "https://wiki.example/mcp")
    told = refused(shared, *words, "--header", f"Authorization=Bearer {SECRET}")
    assert "`headers.Authorization` looks like a secret" in told
    assert SECRET not in told
    for written_out in (
        "Authorization=Bearer hunter2",
        "Authorization=${A}hunter2",
        "X-Api-Key=${A:-hunter2}",
    ):
        told = refused(shared, *words, "--header", written_out)
        assert "looks like a secret" in told
        assert "hunter2" not in told
    run(shared, *words, "--header", "Authorization=Bearer ${WIKI_TOKEN}", "--header", "X-Api-Key=${KEY}")
    run(shared, "team", "server", "add", "search", "files", "--env", "ROOT=/srv", "--", "files", "--fast")
    listed = json.loads(run(shared, "team", "server", "list", "search", "--json"))["servers"]
    assert listed["wiki"]["headers"] == {"Authorization": "Bearer ${WIKI_TOKEN}", "X-Api-Key": "${KEY}"}
    assert listed["files"] == {"command": "files", "args": ["--fast"], "env": {"ROOT": "/srv"}}
    shown = run(shared, "team", "server", "list", "search")
    assert "files --fast" in shown
    assert "https://wiki.example/mcp" in shown
    run(shared, "team", "server", "remove", "search", "wiki")
    assert "wiki" not in run(shared, "team", "server", "list", "search")


@needs_postgres
def test_reading_commands_take_the_path_of_a_teams_project(shared: Sandbox) -> None:
    listed = json.loads(run(shared, "tools", "--all", "--json", "--project", "team:payments/api"))
    (till,) = listed["tools"]
    assert (till["server"], till["scope"], till["source"], till["verdict"]) == (
        *("till", "team", "team:payments", "visible"),
    )
    explained = run(shared, "why", "till", "--project", "team:payments/web")
    assert "team: shared by the projects of this team" in explained
    assert "did you mean `api`?" in refused(shared, "tools", "--project", "team:payments/apo")


@needs_postgres
def test_a_team_has_rules_that_are_checked_before_they_are_stored(shared: Sandbox) -> None:
    assert run(shared, "team", "policy", "show", "payments") == ""
    wrong = '[servers.till]\nblok = ["x"]\n'
    file = shared.write(shared.root / "wrong.toml", wrong)
    told = refused(shared, "team", "policy", "set", "payments", str(file))
    assert (
        f"{file}: line 2 column 1: servers.till.blok: `blok` is not a known key (did you mean `block`?)"
        in told
    )
    shared.write(file, "[tools\n")
    assert "error: " in refused(shared, "team", "policy", "set", "payments", str(file))
    rules = '[servers.till]\nblock = ["*"]'
    set_policy(shared, "payments", rules)
    assert run(shared, "team", "policy", "show", "payments") == f"{rules}\n"
    assert "yes" in run(shared, "team", "list")
    hidden = run(shared, "why", "till", "--project", "team:payments/api")
    assert "in the rules of team payments, line 2" in hidden
    assert "no rule applies" in run(shared, "why", "ranker", "--project", "team:search/index")
    set_policy(shared, "payments", " \n")
    assert "no rule applies" in run(shared, "why", "till", "--project", "team:payments/api")


@needs_postgres
def test_a_token_is_bound_to_the_project_of_a_team_even_in_a_repository_with_such_a_directory(
    shared: Sandbox,
) -> None:
    (shared.root / "api").mkdir()
    run(shared, "token", "add", "alice", "--project", "api")
    run(shared, "token", "add", "bob", "--project", "./api")
    alice, bob = json.loads(run(shared, "token", "list", "--json"))["tokens"]
    assert [each["path"] for each in alice["projects"]] == ["team:payments/api"]
    assert [Path(each["path"]).name for each in bob["projects"]] == ["api"]


@pytest.mark.long
@needs_postgres
def test_a_removed_team_leaves_nothing_behind(shared: Sandbox) -> None:
    run(shared, "scan", "--project", "team:payments/api")
    assert "not a terminal" in refused(shared, "team", "remove", "payments")
    assert run(shared, "team", "project", "remove", "web", "--yes") == "removed team:payments/web\n"
    assert run(shared, "team", "remove", "payments", "--yes") == "removed team:payments\n"
    assert [team["name"] for team in json.loads(run(shared, "team", "list", "--json"))["teams"]] == ["search"]
    assert "no team has a project `api`" in refused(shared, "tools", "--project", "team:payments/api")
    check = run(shared, "store", "check")
    assert "references: no orphaned rows" in check


@needs_postgres
def test_a_store_with_teams_is_not_copied(shared: Sandbox) -> None:
    address = shared.variables["REMIT_STORE"]
    told = refused(shared, "store", "copy", "--from", address, "--to", f"sqlite:{shared.root}/copy.db")
    assert "has teams, which a copy would leave out" in told


@needs_postgres
def test_why_names_the_rules_of_the_team_and_no_client_for_its_projects(shared: Sandbox) -> None:
    set_policy(shared, "payments", '[servers.till]\nblock = ["*"]\n')
    told = shared.remit("why", "till", "--project", "api")
    assert "the rules of team payments, line 2" in told.stdout
    assert "team:payments/remit.toml" not in told.stdout
    assert "remit install" not in told.stdout + told.stderr


@needs_postgres
def test_what_tells_to_approve_names_the_teams_project(shared: Sandbox) -> None:
    assert "`remit approve --project team:payments/api` lists" in refused(
        shared, "approve", "abcdef", "--deny", "--project", "api"
    )


@pytest.mark.long
@needs_postgres
def test_a_gateway_serves_a_teams_project_by_its_name(shared: Sandbox) -> None:
    with serving(shared, shared.home, "--project", "api") as url:
        assert httpx2.post(url, json=HELLO, headers=ACCEPT).status_code == 200
        (gateway,) = json.loads(run(shared, "status", "--json"))["gateways"]
    assert [each["directory"] for each in gateway["endpoints"]] == ["team:payments/api"]
