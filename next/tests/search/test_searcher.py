"""Searching: by name, by word and by meaning."""

import random

import pytest

from remit.decision import Held, Kind, Scope, Status
from remit.search import Searcher
from support.searches import HIDDEN, Listed, index, names, offered, row, search, server

BROWSER = [
    offered("browser", "take_screenshot", "Capture an image of the current page or of one element"),
    offered("browser", "navigate", "Go to a URL in the browser"),
    offered("browser", "click", "Click on an element"),
]
FILES = [
    offered("files", "access", "read and write files", {"path": "where the file is"}),
    offered("files", "list_directory", "List what is in a folder"),
]
MAIL = [
    offered("mail", "send_email", "Send a message to someone's inbox"),
    offered("mail", "search_inbox", "Look for messages"),
]
ALL = [*BROWSER, *FILES, *MAIL]
GITHUB = [
    offered("github", "get_pull_request", "Get details of a specific pull request"),
    offered("github", "merge_pull_request", "Merge a pull request"),
    offered("github", "create_pull_request", "Create a new pull request"),
    offered("github", "list_issues", "List the issues of a repository"),
    offered("github", "close_issue", "Close an issue"),
]


def ledgers(count: int) -> list[Listed]:
    """List tools that share no word with the queries of these tests."""
    about = "Books an amount onto account {0} of ledger {0}"
    return [offered("bank", f"ledger_{at}", about.format(at)) for at in range(count)]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("file manipulation", "files__access"),
        ("take a picture of the page", "browser__take_screenshot"),
        ("write to my boss", "mail__send_email"),
    ],
)
def test_a_tool_is_found_by_its_meaning(query: str, wanted: str) -> None:
    assert names(search(query, *ALL))[0] == wanted


@pytest.mark.parametrize(
    "query",
    [
        "mcp__mail__search_inbox",
        "mail__search_inbox",
        "mcp__remit__mail__search_inbox",
        "search_inbox",
        " searchInbox ",
        "Search Inbox",
        "mail search_inbox",
        "saerch_inbox",
        "serch inbox",
        "mail search inbpx",
    ],
)
def test_a_tool_that_the_query_names_comes_first(query: str) -> None:
    first = search(query, *ALL).results[0]
    assert first.tool.name == "mcp__mail__search_inbox"
    assert first.score >= 0.97


def test_a_short_word_is_no_typo_of_another() -> None:
    found = search("get user", offered("crm", "set_user", "Change a user")).results
    assert [item.score for item in found if item.score > 0.97] == []


def test_a_typo_counts_only_if_no_tool_says_the_word() -> None:
    clock, media = (
        offered("clock", "clock", "Tell the time"),
        offered("files", "media", "Read a base64 block"),
    )
    assert names(search("block", clock, media))[0] == "files__media"
    assert names(search("clocl", clock, media))[0] == "clock__clock"


def test_a_word_that_few_tools_say_is_never_noise() -> None:
    media = offered("files", "media", "Returns what a file holds: images, audio", {"encoding": "charset"})
    for query in ("audio", "encoding", "charsets"):
        assert names(search(query, media, *ledgers(40))) == ["files__media"]
    assert names(search("book an amount onto the audio ledger", media, *ledgers(15)))[-1] == "files__media"


def test_every_word_inside_a_parameter_finds_its_tool() -> None:
    border = {"type": "object", "properties": {"borderColor": {"enum": ["turquoise"]}}}
    style = offered("sheets", "style", "Change cells", {"cells": {"type": "array", "items": border}})
    for query in ("turquoise", "borderColor", "bordercolor"):
        assert names(search(query, style, *ledgers(40))) == ["sheets__style"]


def test_a_word_beyond_what_the_model_reads_is_found() -> None:
    long = offered("docs", "guide", "Explains how to write pages. " * 200 + "Ends with a xylophone.")
    assert names(search("xylophone", long, *ledgers(40))) == ["docs__guide"]


def test_a_word_as_it_is_spelled_comes_before_its_other_forms() -> None:
    others = [offered("a", f"archive_{at}", "Archive an archive") for at in range(60)]
    exact = offered("b", "draw", "Draws a thing of many parts that is long and winding, also from archives")
    found = search("archives", exact, *others)
    assert names(found)[0] == "b__draw"
    assert len(names(found)) == 20


def test_a_word_that_is_said_is_found_beside_a_server_of_that_name() -> None:
    said = [
        offered("files", name, "Returns what a file holds: images, audio") for name in ("media", "stream")
    ]
    assert {"audio__*", "files__media", "files__stream"} == {*names(search("audio", server("audio"), *said))}


def test_of_the_tools_of_a_server_that_is_meant_the_one_that_says_its_name_is_shown() -> None:
    said = offered("github", "star", "Puts a mark on what is called a repository elsewhere than on github")
    assert "github__star" in names(search("github", server("github"), *GITHUB, said))


def test_of_several_tools_with_a_telling_word_none_is_noise() -> None:
    said = [
        offered("files", name, "Returns what a file holds: images, audio") for name in ("media", "stream")
    ]
    found = search("gizmo audio", *said, *ledgers(40))
    assert {*names(found)} == {"files__media", "files__stream"}
    assert found.results[0].score < 0.05


@pytest.mark.parametrize("query", ["open a pull request", "I want to open a pull request"])
def test_opening_a_pull_request_creates_one(query: str) -> None:
    get = offered("git", "get_pull_request", "Get a pull request")
    create = offered(
        "git", "create_pull_request", "Create a pull request of a branch, with a title and a body"
    )
    for model in (None, index().model):
        assert names(search(query, get, create, *ALL, model=model))[0] == "git__create_pull_request"


@pytest.mark.parametrize("query", ["what day is it", "What time is it in Tokyo?", "what's the date?"])
def test_asking_for_the_day_finds_the_clock(query: str) -> None:
    clock = offered("time", "get_current_time", "Get current time in a specific timezone")
    for model in (None, index().model):
        assert names(search(query, *ALL, *GITHUB, clock, model=model))[0] == "time__get_current_time"


def test_a_tool_that_calls_itself_deprecated_comes_after_its_successor() -> None:
    old = offered("fs", "read_file", "Read the contents of a file. DEPRECATED: Use read_text_file instead.")
    new = offered("fs", "read_text_file", "Returns what is in it, as text")
    for query in ("read a file", "read file", "contents of a file"):
        found = names(search(query, old, new, *MAIL))
        assert found.index("fs__read_text_file") < found.index("fs__read_file")
    assert names(search("read_file", old, new, *MAIL))[0] == "fs__read_file"
    cleans = offered("flags", "delete_flag", "Delete a flag, to clean up deprecated flags")
    assert search("delete a flag", cleans).results[0].score > 0.8


def test_built_in_tools_are_found_below_everything_else() -> None:
    fetch = row("WebFetch", description="Go to a page")
    found = search("go to a page", fetch, *BROWSER)
    assert names(found)[-1] == "WebFetch"
    assert len(names(found)) > 1
    assert [item.score for item in found.results] == sorted(
        (item.score for item in found.results), reverse=True
    )


def test_stale_and_failing_tools_rank_lower() -> None:
    about = "Fetch a web page"
    found = search(
        "get a web page",
        offered("a", "stale", about, status=Status.STALE),
        offered("a", "failing", about, outcomes="++---"),
        offered("a", "working", about),
    )
    assert names(found) == ["a__working", "a__failing", "a__stale"]


def test_ties_are_broken_by_use() -> None:
    tools = [offered("a", "go", "Read a page"), offered("b", "go", "Read a page", uses=7)]
    assert names(search("go", *tools))[0] == "b__go"


def test_of_one_name_the_row_closest_to_being_visible_is_shown_once() -> None:
    hidden = row("/deploy", description="Deploy", decision=HIDDEN)
    found = search("deploy", hidden, row("/deploy", description="Deploy"), hidden, include_hidden=True)
    assert [item.decision.is_available for item in found.results] == [True]


@pytest.mark.parametrize("query", ["GitHub", "the github server", "github mcp", "githb", "use github"])
def test_a_server_that_is_meant_has_its_row_and_its_three_best_tools(query: str) -> None:
    found = search(query, *GITHUB, server("github"), *ALL)
    assert names(found)[0] == "github__*"
    assert [name.partition("__")[0] for name in names(found)] == ["github"] * 4
    assert min(item.score for item in found.results) > 0.9


def test_a_query_about_a_tool_finds_the_tool_and_not_its_servers_row() -> None:
    assert "github__*" not in names(search("github merge pull request", *GITHUB, server("github")))
    assert names(search("github merge pull request", server("github"))) == ["github__*"]


def test_a_part_of_a_servers_name_means_it_unless_a_tool_has_it_in_its_name() -> None:
    brave, web = server("brave-search"), offered("brave-search", "web", "Look up pages")
    assert names(search("brave", brave, web)) == ["brave-search__*", "brave-search__web"]
    news = offered("brave-search", "search_news", "Look up news")
    assert "brave-search__*" not in names(search("search", brave, web, news))


def test_where_even_the_best_is_noise_nothing_is_shown_but_the_nearest_names() -> None:
    for query in ("photosynthesis of tropical orchids", "orchid photos"):
        found = search(query, *ALL)
        assert (names(found), len(found.nearest)) == ([], 3)
    blank = search("  ", *ALL)
    assert (names(blank), blank.nearest) == ([], [])


def test_what_scores_far_below_the_best_is_not_shown_unless_several_things_are_asked_for() -> None:
    everything = search("take a screenshot of the page", *ALL, min_score=0).results
    shown = search("take a screenshot of the page", *ALL).results
    assert 1 <= len(shown) < len(everything)
    assert shown[-1].score >= 0.08 * shown[0].score
    several = search("list what is in this folder, then write an email", *ALL).results
    assert several[-1].score < 0.08 * several[0].score


def test_an_instruction_counts_before_and_after_pasted_text() -> None:
    pasted = "".join(f"At {at} a worker of region {at} started and counted its stock.\n" for at in range(300))
    for query in (f"Send this to Anna by email.\n{pasted}", f"{pasted}\nSend this to Anna by email."):
        assert names(search(query, *ALL, limit=1, min_score=0)) == ["mail__send_email"]


def test_a_quotation_from_a_description_finds_its_tool() -> None:
    quoted = search("a message to someone's inbox", *ALL).results[0]
    other = search("a message to someone's black inbox", *ALL).results[0]
    assert quoted.tool.name == other.tool.name == "mcp__mail__send_email"
    assert quoted.score > other.score


def test_hidden_tools_and_other_scopes_are_left_out_unless_asked_for() -> None:
    hidden = offered("mail", "forward_email", "Send an email on", decision=HIDDEN)
    shot = row("/shot", description="Take a screenshot", scope=Scope.PROJECT)
    assert "mail__forward_email" not in names(search("forward email", hidden, *MAIL))
    assert names(search("forward email", hidden, *MAIL, include_hidden=True))[0] == "mail__forward_email"
    assert names(search("take a screenshot", shot, *BROWSER, scope=Scope.PROJECT)) == ["/shot"]


def test_a_held_definition_is_found_by_its_name_alone() -> None:
    held = offered("pay", "transfer", "Send a zeppelin", {"zeppelin": "x"}, held=Held("changed", "", ""))
    assert names(search("zeppelin", held, *MAIL)) == []
    assert names(search("transfer", held, *MAIL)) == ["pay__transfer"]


def test_a_tool_without_a_definition_is_found_by_its_row() -> None:
    assert (
        names(search("query with postgres", row("mcp__postgres__run_query"), *MAIL))[0]
        == "postgres__run_query"
    )
    assert names(search("commit", row("/commit", kind=Kind.SKILL), *MAIL)) == ["/commit"]


@pytest.mark.parametrize(
    "query",
    [
        "OR NOT NEAR(a b)",
        '"',
        "name:x",
        "*",
        "\x00",
        "\ud800",
        "画面を撮る",
        "word " * 2000,
        "x" * 10_000,
        "",
    ],
)
def test_no_query_is_an_error(query: str) -> None:
    assert search(query, *ALL).query == query


@pytest.mark.parametrize("limit", [0, 51])
def test_a_limit_is_between_1_and_50(limit: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 50"):
        search("q", *ALL, limit=limit)


def test_no_limit_is_exceeded() -> None:
    assert len(names(search("browser page", *ALL, limit=2, min_score=0))) == 2


def test_half_a_character_and_deep_nesting_stop_no_search() -> None:
    deep: dict[str, object] = {"description": "bassoon"}
    for _ in range(200):
        deep = {"properties": {"inner": deep}}
    odd = offered("odd", "play", "half \ud800", {"\ud800path": "\udc00 of the oboe", "deep": deep})
    assert names(search("oboe", odd, *MAIL)) == names(search("bassoon", odd, *MAIL)) == ["odd__play"]


_WORDS = """
    read write delete file folder page image screenshot send mail message search list create issue branch
    commit deploy database query table user password invoice order customer account report chart
"""
WORDS = _WORDS.split()


def test_no_search_finds_what_is_not_listed() -> None:
    chance = random.Random(20261115)  # noqa: S311 - the same searches each time
    projects = {
        home: [
            offered(home, f"{chance.choice(WORDS)}_{at}", " ".join(chance.choices(WORDS, k=5)))
            for at in range(40)
        ]
        for home in ("shop", "blog", "bank")
    }
    shared = index(*(entry for entries in projects.values() for entry in entries))
    searchers = {
        home: Searcher(shared, [entry.item for entry in entries]) for home, entries in projects.items()
    }
    for _ in range(300):
        home, searcher = chance.choice(list(searchers.items()))
        named = f"{chance.choice([*projects])}__{chance.choice(WORDS)}_{chance.randrange(40)}"
        query = chance.choice([named, " ".join(chance.choices((*WORDS, *projects), k=3))])
        found = searcher.search(query, limit=50, min_score=chance.choice([None, 0.0]))
        told = (*(item.tool.name for item in found.results), *found.nearest)
        assert all(name.startswith(f"mcp__{home}__") for name in told), query
