"""`remit search`, as a person types it."""

import json
from pathlib import Path

import pytest

from remit.decision.tools import Definition
from remit.upstream.upstream_model import Offer
from support.embedding_service import embedding_service, wait_for_threads
from support.sandbox import Sandbox


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    """A project with two commands, read before."""
    project = sandbox.project("shop")
    commands = project / ".claude" / "commands"
    sandbox.write(commands / "shot.md", "---\ndescription: Capture an image of the current page\n---\n")
    sandbox.write(commands / "mail.md", "---\ndescription: Send a message to a colleague\n---\n")
    return project


def test_a_tool_is_found_by_what_it_does(sandbox: Sandbox, shop: Path) -> None:
    ran = sandbox.remit("search", "take", "a", "picture", "of", "the", "page", cwd=shop)
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()[:2]
    assert first == "1. /shot: Capture an image of the current page"
    assert second.startswith("   [project] | never used | score 0.")


def test_the_answer_as_json_says_where_it_was_asked(sandbox: Sandbox, shop: Path) -> None:
    ran = sandbox.remit("search", "take a picture", "--json", cwd=shop)
    answer = json.loads(ran.stdout)
    assert answer["workspace"] == str(shop)
    assert answer["client"] == "claude-code"
    assert answer["tools"][0]["name"] == "/shot"
    assert answer["tools"][0]["scope"] == "project"
    assert 0 < answer["tools"][0]["score"] <= 1


def test_no_good_match_is_said_and_is_no_success(sandbox: Sandbox, shop: Path) -> None:
    ran = sandbox.remit("search", "photosynthesis of tropical orchids", cwd=shop)
    assert ran.returncode == 1
    assert ran.stdout.startswith('no good match for "photosynthesis of tropical orchids"; nearest are ')


def test_where_servers_were_never_asked_for_their_tools_it_is_said_how(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write_state("browser", "mail")
    ran = sandbox.remit("search", "photosynthesis of tropical orchids", cwd=shop)
    assert ran.returncode == 1
    assert "hint: the tools of 2 servers are not known yet: run `remit scan --connect`" in ran.stderr


def test_a_server_whose_tools_are_not_known_is_found_with_the_command_that_lists_them(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.write_state("time")
    first = sandbox.remit("search", "what time is it", cwd=shop).stdout.splitlines()[0]
    assert first == (
        "1. mcp__time__*: an MCP server; its tools are not known yet: run `remit scan --connect time`"
    )


def test_a_server_that_a_query_names_is_found_with_its_tools(sandbox: Sandbox, shop: Path) -> None:
    sandbox.write_state("time")
    offered = [
        Definition(name=f"mcp__time__{name}", server="time", tool=name, description=said)
        for name, said in (("now", "Get the current time."), ("zones", "List all places."))
    ]
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        (server,) = (item.declaration for item in registry.catalog.resolved(here) if item.declaration.server)
        registry.catalog.keep(server, Offer(tools=offered), here)
    for query in ("what time is it", "time", "the tools of time"):
        ran = sandbox.remit("search", query, "--json", cwd=shop)
        found = [each["name"] for each in json.loads(ran.stdout)["tools"]]
        assert found[:3] == ["mcp__time__*", "mcp__time__now", "mcp__time__zones"]


def test_an_empty_query_is_an_error(sandbox: Sandbox, shop: Path) -> None:
    ran = sandbox.remit("search", " ", cwd=shop)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "QUERY is empty: describe a task, or name a tool" in ran.stderr


def test_one_projects_tools_are_not_found_from_another(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("search", "take a picture of the page", cwd=shop).returncode == 0
    ran = sandbox.remit("search", "take a picture of the page", cwd=sandbox.project("blog"))
    assert ran.returncode == 1
    assert "shot" not in ran.stdout


def test_a_better_match_that_is_hidden_here_is_named(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("disable", "/shot", cwd=shop).returncode == 0
    ran = sandbox.remit("search", "capture an image of the page", cwd=shop)
    assert "1. /shot" not in ran.stdout
    assert "hint: a better match is hidden here; `remit why /shot` says why" in ran.stderr
    shown = sandbox.remit("search", "capture an image of the page", "--all", cwd=shop)
    assert "1. /shot" in shown.stdout
    assert "hidden here" not in shown.stderr


def test_a_scope_and_a_limit_can_be_given(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("search", "picture", "--scope", "global", cwd=shop).returncode == 1
    ran = sandbox.remit("search", "send a picture of the page", "--limit", "1", "--json", cwd=shop)
    assert len(json.loads(ran.stdout)["tools"]) == 1


@pytest.mark.parametrize(
    "arguments", [(), ("x", "--limit", "0"), ("x", "--limit", "51"), ("x", "--scope", "y")]
)
def test_what_cannot_be_asked_is_an_error(sandbox: Sandbox, shop: Path, arguments: tuple[str, ...]) -> None:
    assert sandbox.remit("search", *arguments, cwd=shop).returncode == 2


def test_without_a_model_it_says_that_words_alone_were_compared(sandbox: Sandbox, shop: Path) -> None:
    sandbox.variables["REMIT_EMBEDDINGS"] = "none"
    ran = sandbox.remit("search", "image", cwd=shop)
    assert ran.stdout.splitlines()[-1] == "(found by words alone: no model is set)"


def test_a_model_that_cannot_be_reached_is_warned_of_by_a_scan_and_words_are_searched(
    sandbox: Sandbox, shop: Path
) -> None:
    sandbox.variables |= {
        "REMIT_EMBEDDINGS": "http://127.0.0.1:9/v1",
        "REMIT_EMBEDDINGS_MODEL": "small",
    }
    ran = sandbox.remit("search", "image", cwd=shop)
    assert ran.stdout.startswith("1. /shot")
    assert ran.stderr == "hint: run `remit scan` to embed new tools, so they are also found by meaning\n"
    assert "warning: the embeddings of `127.0.0.1:9`" in sandbox.remit("scan", cwd=shop).stderr


def test_a_search_does_not_ask_a_slow_endpoint_for_the_vectors_of_tools(sandbox: Sandbox, shop: Path) -> None:
    with embedding_service() as service:
        sandbox.variables |= service.variables
        ran = sandbox.remit("search", "image", "--json", cwd=shop)
        assert service.requests == []
        answer = json.loads(ran.stdout)
        assert answer["tools"][0]["name"] == "/shot"
        assert answer["note"] == "found by words alone: no tool here has a vector of this model yet"
        service.answer()
        assert sandbox.remit("scan", cwd=shop).returncode == 0
        sandbox.variables["REMIT_EMBEDDINGS_WAIT"] = "60"
        ran = sandbox.remit("search", "a screenshot", "--json", cwd=shop)
        answer = json.loads(ran.stdout)
        assert (answer["tools"][0]["name"], answer["note"]) == ("/shot", None)
        assert (len(service.requests), service.requests[1]) == (2, ["a screenshot"])


def test_a_search_waits_shortly_for_the_vector_of_the_query(sandbox: Sandbox, shop: Path) -> None:
    with embedding_service() as service:
        sandbox.variables |= {**service.variables, "REMIT_EMBEDDINGS_WAIT": "0.01"}
        service.answer()
        sandbox.remit("scan", cwd=shop)
        service.hold()
        ran = sandbox.remit("search", "image", cwd=shop)
        assert ran.stdout.startswith("1. /shot")
        assert "(found by words alone: the query got no vector within 0.01 s)" in ran.stdout
    wait_for_threads("remit-query")


def test_a_scan_makes_what_it_found_ready_for_search(sandbox: Sandbox, shop: Path) -> None:
    assert sandbox.remit("scan", cwd=shop).returncode == 0
    with sandbox.registry() as registry:
        assert registry.index(registry.at(str(shop))) == 0
