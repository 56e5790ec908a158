"""Searching: by name, by word and by meaning, inside one workspace's view."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from remit.decision.scopes import Scope
from remit.decision.tools import Definition
from remit.registry import Registry
from remit.search.cancellation import Cancellation
from remit.search.ranking import SearchResults
from remit.store.open_store import open_store
from remit.store.sqlite.sqlite_database import SqliteDatabase
from remit.upstream.upstream_model import Offer, Upstream
from support.builders import servers
from support.databases import run_sql
from support.sandbox import Sandbox

BROWSER = {
    "browser_take_screenshot": "Capture an image of the current page or of one element",
    "browser_navigate": "Open a URL in the browser",
    "browser_click": "Click on an element",
}
FILES = {
    "access": "read and write files",
    "list_directory": "List what is in a folder",
}
MAIL = {"send_email": "Send a message to someone's inbox", "search_inbox": "Look for messages"}


class Listing:
    """Servers that list what a test says, without being started."""

    def __init__(self, **tools: Mapping[str, str]) -> None:
        self._tools = tools

    def ask(
        self, upstreams: Sequence[Upstream], on_answer: Callable[[Upstream, Offer], None]
    ) -> Sequence[Offer]:
        offers = [
            Offer(
                tools=[
                    Definition(
                        name=upstream.canonical(name),
                        server=upstream.label,
                        tool=name,
                        description=description,
                        input_schema=json.dumps({"type": "object", "properties": {"path": {}}}),
                    )
                    for name, description in self._tools[upstream.label].items()
                ],
            )
            for upstream in upstreams
        ]
        for upstream, offer in zip(upstreams, offers, strict=True):
            on_answer(upstream, offer)
        return offers


@pytest.fixture
def registry(sandbox: Sandbox) -> Registry:
    sandbox.write_state("browser", "files", "mail")
    registry = sandbox.registry()
    context = registry.at(str(sandbox.project("shop")))
    registry.scan(context)
    registry.servers.connect(context, Listing(browser=BROWSER, files=FILES, mail=MAIL))
    return registry


def found(registry: Registry, query: str, directory: Path, **options: object) -> SearchResults:
    context = registry.at(str(directory))
    registry.index(context)
    return registry.search(query, context, **options)  # pyright: ignore[reportArgumentType]


def names(found: SearchResults) -> list[str]:
    return [item.tool.name for item in found.results]


def shop(sandbox: Sandbox) -> Path:
    return sandbox.root / "code" / "shop"


def test_file_manipulation_finds_read_and_write_files(sandbox: Sandbox, registry: Registry) -> None:
    assert names(found(registry, "file manipulation", shop(sandbox)))[0] == "mcp__files__access"


def test_taking_a_picture_of_the_page_finds_the_screenshot_tool(sandbox: Sandbox, registry: Registry) -> None:
    assert names(found(registry, "take a picture of the page", shop(sandbox)))[0] == (
        "mcp__browser__browser_take_screenshot"
    )


def test_a_scope_filter_leaves_the_other_scopes_out(sandbox: Sandbox, registry: Registry) -> None:
    sandbox.write(
        shop(sandbox) / ".claude" / "commands" / "shot.md", "---\ndescription: Take a screenshot\n---\n"
    )
    everywhere = found(registry, "take a screenshot", shop(sandbox))
    assert {item.tool.scope for item in everywhere.results} == {Scope.GLOBAL, Scope.PROJECT}
    assert names(found(registry, "take a screenshot", shop(sandbox), scope=Scope.PROJECT)) == ["/shot"]


def test_others_tools_never_crowd_out_ones_own(sandbox: Sandbox, registry: Registry) -> None:
    crowd = sandbox.project("crowd")
    sandbox.write(crowd / ".mcp.json", servers("shots"))
    many = {f"take_screenshot_{i}": "Take a screenshot of the page" for i in range(300)}
    context = registry.at(str(crowd), is_headless=True)
    registry.scan(context)
    registry.trust.grant(registry.trust.servers(context), context)
    registry.servers.connect(context, Listing(shots=many), names=["shots"])
    registry.index(context)
    assert len(registry.search("take a screenshot", context, limit=50).results) == 50
    here = found(registry, "take a screenshot of the page", shop(sandbox))
    assert names(here)[0] == "mcp__browser__browser_take_screenshot"
    assert not [name for name in names(here) if "shots" in name]


def test_hidden_tools_are_found_on_request_with_gate_and_reason(sandbox: Sandbox, registry: Registry) -> None:
    sandbox.write_state("browser", "files", "mail", local={shop(sandbox): {"disabledMcpServers": ["mail"]}})
    assert not [name for name in names(found(registry, "send an email", shop(sandbox))) if "mail" in name]
    hidden = found(registry, "send an email", shop(sandbox), include_hidden=True).results[0]
    assert hidden.tool.name == "mcp__mail__send_email"
    assert (hidden.decision.gate, hidden.decision.is_available) == ("config", False)


def test_what_is_no_good_match_for_anything_is_said_so_with_the_nearest_names(
    sandbox: Sandbox, registry: Registry
) -> None:
    answer = found(registry, "photosynthesis of tropical orchids", shop(sandbox))
    assert names(answer) == []
    assert len(answer.nearest) == 3


def test_the_less_likely_are_shown_too_but_not_what_is_far_below_the_best(
    sandbox: Sandbox, registry: Registry
) -> None:
    answer = found(registry, "browser page", shop(sandbox))
    scores = [item.score for item in answer.results]
    everything = found(registry, "browser page", shop(sandbox), min_score=0).results
    assert 1 < len(scores) < len(everything)
    assert scores[-1] >= 0.08 * scores[0]


@pytest.mark.long
@pytest.mark.parametrize(
    "query",
    [
        "read-only",
        "AND",
        "OR NOT NEAR(a b)",
        '"',
        "'; drop table documents; --",
        "name:x",
        "*",
        "(",
        "^a",
        "col : {x}",
        "\x00",
        "\ud800",
        "スクリーンショットを撮る",
        "сделать снимок экрана",
        "word " * 2000,
        "x" * 10_000,
        "",
    ],
)
def test_no_query_is_a_syntax_error(sandbox: Sandbox, registry: Registry, query: str) -> None:
    assert found(registry, query, shop(sandbox)).query == query


def test_nothing_is_near_to_no_query(sandbox: Sandbox, registry: Registry) -> None:
    answer = found(registry, "  ", shop(sandbox))
    assert (names(answer), answer.nearest) == ([], [])


@pytest.mark.parametrize("limit", [0, 51, -1])
def test_a_limit_is_between_1_and_50(sandbox: Sandbox, registry: Registry, limit: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 50"):
        found(registry, "q", shop(sandbox), limit=limit)


def test_at_most_as_many_are_found_as_asked_for(sandbox: Sandbox, registry: Registry) -> None:
    assert len(found(registry, "browser page", shop(sandbox), limit=2, min_score=0).results) == 2


def test_the_same_text_is_embedded_once_however_many_projects_use_it(
    sandbox: Sandbox, registry: Registry
) -> None:
    first = registry.index(registry.at(str(shop(sandbox))))
    second = registry.index(registry.at(str(sandbox.project("blog"))))
    assert (first, second) == (10, 0)  # seven tools and their three servers
    assert run_sql(sandbox.database, "select count(*) from documents") == [(10,)]


def test_a_changed_description_is_embedded_again(sandbox: Sandbox, registry: Registry) -> None:
    context = registry.at(str(shop(sandbox)))
    registry.index(context)
    changed = {**FILES, "access": "encrypt and decrypt archives"}
    registry.servers.connect(context, Listing(files=changed), names=["files"])
    registry.trust.pins.accept(registry.trust.pins.changed(context), context)
    registry.servers.connect(context, Listing(files=changed), names=["files"])  # forgets the old definition
    assert registry.index(context) == 1
    assert names(registry.search("encrypt an archive", context))[0] == "mcp__files__access"
    assert run_sql(sandbox.database, "select count(*) from documents") == [(10,)]


def test_half_a_character_in_what_is_said_of_a_parameter_stops_no_search(
    sandbox: Sandbox, registry: Registry
) -> None:
    context = registry.at(str(shop(sandbox)))
    schema = {"type": "object", "properties": {"\ud800path": {"description": "\udc00 of the bassoon"}}}
    registry.usage.report_tool("Play", context, description="Play", input_schema=schema)
    assert names(found(registry, "send an email", sandbox.project("blog")))[0] == "mcp__mail__send_email"
    assert names(found(registry, "bassoon", shop(sandbox), min_score=0))[0] == "Play"


def test_a_tool_without_a_description_is_found_by_its_name_and_its_server(sandbox: Sandbox) -> None:
    registry, project = sandbox.registry(), sandbox.project("shop")
    context = registry.at(str(project))
    registry.usage.record("mcp__postgres__run_query", context)
    registry.index(context)
    assert names(registry.search("query a database with postgres", context, min_score=0)) == [
        "mcp__postgres__run_query"
    ]


def test_nothing_that_search_read_is_left_of_a_forgotten_project(
    sandbox: Sandbox, registry: Registry
) -> None:
    secret = sandbox.project("secret")
    sandbox.write(
        secret / ".claude" / "commands" / "launch.md", "---\ndescription: xylophone zeppelin\n---\n"
    )
    assert names(found(registry, "xylophone", secret)) == ["/launch"]
    registry.projects.forget(registry.projects.find(str(secret)))
    assert names(found(registry, "xylophone", shop(sandbox), min_score=0.5)) == []
    registry.close()
    left = b"".join(path.read_bytes() for path in sandbox.database.parent.iterdir()).lower()
    assert b"xylophon" not in left


@pytest.mark.usefixtures("registry")
def test_without_a_model_it_searches_by_words_and_says_so(sandbox: Sandbox) -> None:
    sandbox.variables["REMIT_EMBEDDINGS"] = "none"
    answer = found(sandbox.registry(), "screenshot", shop(sandbox))
    assert names(answer)[0] == "mcp__browser__browser_take_screenshot"
    assert answer.note == "found by words alone: no model is set"


@pytest.mark.sqlite_only
def test_without_sqlite_vec_it_searches_by_words_and_says_so(
    sandbox: Sandbox, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "remit.store.sqlite.sqlite_database._vector_extension", lambda: str(sandbox.root / "vec0")
    )
    answer = found(registry, "screenshot", shop(sandbox))
    assert names(answer)[0] == "mcp__browser__browser_take_screenshot"
    assert answer.note == "found by words alone: sqlite-vec cannot be loaded here"


def test_where_sqlite_vec_is_not_installed_no_file_of_that_name_is_loaded_from_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(_: str) -> None:
        return None

    monkeypatch.setattr("importlib.util.find_spec", none)
    assert not SqliteDatabase(":memory:").can_compare()


def test_vectors_of_another_length_are_not_compared_and_give_way_to_new_ones(
    sandbox: Sandbox, registry: Registry
) -> None:
    context = registry.at(str(shop(sandbox)))
    registry.index(context)
    store = open_store(str(sandbox.database))
    store.documents.add_vectors("static-1", {1: b"\0\0\x80?" * 4})
    assert run_sql(sandbox.database, "select length(vector) from vectors") == [(16,)]
    for in_memory in (False, True):
        searcher = registry.searcher(context, in_memory=in_memory, is_hurried=True)
        answer = searcher.search("take a screenshot")
        assert names(answer)[0] == "mcp__browser__browser_take_screenshot"
        assert answer.note == "found by words alone: no tool here has a vector of this model yet"
    assert registry.index(context) == 9
    assert registry.index(context) == 1
    assert run_sql(sandbox.database, "select distinct length(vector) from vectors") == [(1024,)]


@pytest.mark.usefixtures("registry")
def test_rank_fusion_is_a_setting(sandbox: Sandbox) -> None:
    sandbox.variables["REMIT_FUSION"] = "rank"
    answer = found(sandbox.registry(), "take a picture of the page", shop(sandbox))
    assert names(answer)[0] == "mcp__browser__browser_take_screenshot"
    assert answer.results[0].score == pytest.approx(0.96)


def test_one_searcher_may_end_while_another_of_the_same_tools_goes_on(
    sandbox: Sandbox, registry: Registry
) -> None:
    context = registry.at(str(shop(sandbox)))
    one, other = registry.searcher(context), registry.searcher(context)
    assert names(one.search("screenshot")) == names(other.search("screenshot"))
    one.close()
    assert names(other.search("take a screenshot"))[0] == "mcp__browser__browser_take_screenshot"


@pytest.mark.sqlite_only
def test_searching_leaves_nothing_behind_in_the_process(sandbox: Sandbox, registry: Registry) -> None:
    for _ in range(3):
        found(registry, "screenshot", shop(sandbox))
    left = run_sql(registry._store, "select count(*) from temp.selected")  # pyright: ignore
    assert left == [(0,)]


def test_in_memory_the_same_is_found_in_the_same_order(sandbox: Sandbox, registry: Registry) -> None:
    context = registry.at(str(shop(sandbox)))
    registry.index(context)
    in_sql, in_memory = registry.searcher(context), registry.searcher(context, in_memory=True)
    quote = "an image of the current page or of one element"
    for query in (
        "take a picture of the page",
        "file manipulation",
        "mail",
        "send_email",
        "orchids",
        "",
        quote,
    ):
        one, other = in_sql.search(query, min_score=0), in_memory.search(query, min_score=0)
        assert names(one) == names(other)
        scores = [item.score for item in other.results]
        assert [item.score for item in one.results] == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_tool_is_found_by_a_quotation_from_its_description(
    sandbox: Sandbox, registry: Registry, in_memory: bool
) -> None:
    context = registry.at(str(shop(sandbox)))
    registry.index(context)
    quoted = registry.searcher(context, in_memory=in_memory).search("a message to someone's inbox")
    other = registry.searcher(context, in_memory=in_memory).search("a message to someone's black inbox")
    assert names(quoted)[0] == names(other)[0] == "mcp__mail__send_email"
    assert quoted.results[0].score > other.results[0].score


def test_a_search_embeds_new_tools_of_the_bundled_model_by_itself(
    sandbox: Sandbox, registry: Registry
) -> None:
    context = registry.at(str(shop(sandbox)))
    answer = registry.search("file manipulation", context)
    assert (names(answer)[0], answer.note) == ("mcp__files__access", None)
    assert registry.index(context) == 0


def test_a_search_whose_time_for_embedding_is_over_says_how_many_tools_are_left(
    sandbox: Sandbox, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = registry.at(str(shop(sandbox)))
    monkeypatch.setattr("remit.search.search_service.READING", 0.0)
    assert registry.search("screenshot", context).note == (
        "found by words alone: no tool here has a vector of this model yet"
    )
    registry.index(context)
    registry.usage.report_tool("Play", context, description="Play the bassoon")
    assert registry.search("screenshot", context).note == "1 tool is found by words alone until embedded"
    registry.usage.report_tool("Sing", context, description="Sing a song")
    assert registry.search("screenshot", context).note == "2 tools are found by words alone until embedded"


def test_cancelled_indexing_keeps_what_was_embedded(sandbox: Sandbox, registry: Registry) -> None:
    context, cancellation = registry.at(str(shop(sandbox))), Cancellation()
    cancellation.cancel()
    assert registry.index(context, cancellation=cancellation) == 0
    assert registry.index(context) == 10
