"""`discover_tools` beside an embedding endpoint that is slow or fails, and queries that mean a server."""

import logging
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from remit.gateway.endpoint import LiveEndpoint
from remit.upstream.ports import ServerLists
from support.databases import run_sql
from support.embedding_service import EmbeddingService, embedding_service, threads, wait_for_threads
from support.gateway_fakes import FakeLinks, call, endpoint, offered
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio

THREAD = "remit-embeddings"
NO_VECTORS = "found by words alone: no tool here has a vector of this model yet"
PICTURE = {"query": "a picture of the page"}


@pytest.fixture
def service() -> Generator[EmbeddingService]:
    with embedding_service() as service:
        yield service


@pytest.fixture
def shop(sandbox: Sandbox, service: EmbeddingService) -> Path:
    sandbox.variables |= service.variables
    sandbox.write_state("git", "web")
    sandbox.write(sandbox.home / ".config/remit/remit.toml", '[memory]\ntools = "off"\n')
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    git = [offered(name, description=f"Git: {name} the page") for name in ("status", "push", "log")]
    web = [offered("grab", description="Capture the screen"), offered("search")]
    return FakeLinks({"git": ServerLists(tools=git), "web": ServerLists(tools=web)})


async def discover(served: LiveEndpoint, **asked: Any) -> dict[str, Any]:
    await served.tools({})  # asks the servers
    return (await call(served, "discover_tools", asked))["structuredContent"]


def found(answer: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in answer["tools"]]


async def test_search_answers_by_words_while_the_endpoint_is_silent_and_says_so(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        await served.tools({})  # asks the servers
        answer = await call(served, "discover_tools", PICTURE)  # the endpoint never answers
        assert set(found(answer["structuredContent"])) == {"git__log", "git__push", "git__status"}
        assert answer["structuredContent"]["note"] == NO_VECTORS
        assert answer["content"][0]["text"].endswith(f"({NO_VECTORS})")
        assert len(threads(THREAD)) == 1
    assert threads(THREAD) == []


async def test_meaning_joins_when_the_vectors_are_there(
    sandbox: Sandbox, shop: Path, links: FakeLinks, service: EmbeddingService
) -> None:
    sandbox.variables["REMIT_EMBEDDINGS_WAIT"] = "60"
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        await discover(served, **PICTURE)
        service.answer()
        wait_for_threads(THREAD)
        answer = await discover(served, **PICTURE)
        assert found(answer)[0] == "web__grab"
        assert answer["note"] is None
        await discover(served, **PICTURE)
        assert len(service.requests) == 2  # the tools once, the query once


async def test_after_a_restart_only_tools_without_a_vector_are_embedded(
    sandbox: Sandbox, shop: Path, links: FakeLinks, service: EmbeddingService
) -> None:
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        await discover(served, **PICTURE)
        service.answer()
        wait_for_threads(THREAD)
    total = len(service.requests[0])
    run_sql(
        sandbox.database, "delete from vectors where document_id = (select min(document_id) from vectors)"
    )
    service.requests.clear()
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        answer = await discover(served, **PICTURE)
        assert answer["note"] is not None
        wait_for_threads(THREAD)
    tools = [texts for texts in service.requests if texts != [PICTURE["query"]]]
    assert [len(texts) for texts in tools] == [1]
    assert run_sql(sandbox.database, "select count(*) from vectors") == [(total,)]


async def test_a_failing_endpoint_is_reported_once_and_left_alone_for_a_while(
    sandbox: Sandbox,
    shop: Path,
    links: FakeLinks,
    service: EmbeddingService,
    caplog: pytest.LogCaptureFixture,
) -> None:
    service.status = 401
    service.answer()
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        with caplog.at_level(logging.WARNING, "remit.gateway"):
            await discover(served, **PICTURE)
            wait_for_threads(THREAD)
            notes = [(await discover(served, **PICTURE))["note"] for _ in range(3)]
    cause = f"the embeddings of `{service.host}`: it answers 401 Unauthorized"
    assert notes == [f"found by words alone: {cause}", "found by words alone", "found by words alone"]
    assert [record.getMessage() for record in caplog.records] == [
        f"new tools are found by words alone: {cause}"
    ]
    assert len(service.requests) == 1


async def test_a_query_without_a_vector_in_time_is_answered_by_words(
    sandbox: Sandbox, shop: Path, links: FakeLinks, service: EmbeddingService
) -> None:
    sandbox.variables["REMIT_EMBEDDINGS_WAIT"] = "0.01"
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        await discover(served, **PICTURE)
        service.answer()
        wait_for_threads(THREAD)
        service.hold()
        notes = [(await discover(served, **PICTURE))["note"] for _ in range(2)]
    assert notes == ["found by words alone: the query got no vector within 0.01 s", "found by words alone"]
    assert threads("remit-query") == []


@pytest.mark.long
@pytest.mark.parametrize("query", ["git", "the git server", "Git MCP server"])
async def test_a_query_that_means_a_server_finds_it_and_its_best_tools(
    sandbox: Sandbox, shop: Path, links: FakeLinks, query: str
) -> None:
    sandbox.variables["REMIT_EMBEDDINGS"] = "static"
    async with endpoint(sandbox, links, shop, strategy="search") as served:
        answer = await discover(served, query=query, detail="full")
        assert sorted(found(answer)) == ["git__log", "git__push", "git__status", "mcp__git__*"]
        assert "git__push" in found(await discover(served, query="git push"))
