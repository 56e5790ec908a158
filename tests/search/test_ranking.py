"""How what an index found becomes one order with one score."""

import pytest

from remit.decision.decide import Decision, ToolDecision, Verdict
from remit.decision.kinds import Authority, Kind, ToolStatus
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.search.name_matches import NameMatch, NameMatches, is_one_letter_off
from remit.search.ranking import Fusion, Hit, RankedTool, RankFusion, rank, worth_showing

VISIBLE = Decision(verdict=Verdict.VISIBLE, gate=None, reason="declared", unlock=None)
HIDDEN = Decision(verdict=Verdict.HIDDEN, gate=None, reason="disabled", unlock=None)


def listed(
    name: str,
    document: int | None = None,
    *,
    server: str | None = None,
    kind: Kind = Kind.MCP_TOOL,
    status: ToolStatus = ToolStatus.ACTIVE,
    uses: int = 0,
    decision: Decision = VISIBLE,
) -> ToolDecision:
    tool = Tool(
        name,
        kind,
        "claude-code",
        Scope.GLOBAL,
        "/file",
        Authority.CONFIG,
        server=server,
        status=status,
        usage_count=uses,
        document_id=document,
    )
    return ToolDecision(tool, decision)


def ordered(query: str, found: list[ToolDecision], scores: dict[int, float]) -> list[RankedTool]:
    return rank(query, found, scores, NameMatches([item.tool for item in found]).find(query))


def names(ranked: list[RankedTool]) -> list[str]:
    return [item.tool.name for item in ranked]


READ = listed("mcp__files__read_file", 1, server="files")
WRITE = listed("mcp__files__write_file", 2, server="files")


def test_the_likelier_tool_comes_first() -> None:
    assert names(ordered("put text on disk", [READ, WRITE], {1: 0.3, 2: 0.6})) == [
        "mcp__files__write_file",
        "mcp__files__read_file",
    ]


@pytest.mark.parametrize(
    "query",
    [
        "mcp__files__read_file",
        "files__read_file",
        "mcp__remit__files__read_file",
        "read_file",
        " readFile ",
        "Read File",
        "files read_file",
        "read_fiel",
        "readd_file",
    ],
)
def test_a_tool_that_the_query_names_comes_first_whatever_its_score(query: str) -> None:
    first, second = ordered(query, [READ, WRITE], {1: 0.0, 2: 0.97})
    assert first.tool.name == "mcp__files__read_file"
    assert first.score > second.score


def test_words_that_are_one_letter_from_a_name_are_no_slip() -> None:
    lint = listed("mcp__eslint__lint-files", 3, server="eslint")
    assert names(ordered("list files", [lint, READ], {1: 0.6, 3: 0.1}))[0] == "mcp__files__read_file"


def test_an_exact_name_is_certain() -> None:
    assert ordered("read_file", [READ], {})[0].score == 1.0


def test_among_tools_of_one_name_the_one_nearer_in_meaning_comes_first() -> None:
    other = listed("mcp__disk__read-file", 3, server="disk")
    assert names(ordered("read file", [READ, other], {1: 0.2, 3: 0.9})) == [
        "mcp__disk__read-file",
        "mcp__files__read_file",
    ]


def test_what_nothing_was_found_of_scores_nothing() -> None:
    assert ordered("x", [listed("/deploy")], {})[0].score == 0.0


def test_stale_demoted_and_built_in_tools_rank_lower() -> None:
    found = [
        listed("mcp__a__stale", 1, server="a", status=ToolStatus.STALE),
        listed("mcp__a__demoted", 2, server="a", status=ToolStatus.DEMOTED),
        listed("WebFetch", 3, kind=Kind.BUILTIN),
        listed("mcp__a__active", 4, server="a"),
    ]
    same = dict.fromkeys(range(1, 5), 0.9)
    assert names(ordered("get a page", found, same)) == [
        "mcp__a__active",
        "WebFetch",
        "mcp__a__demoted",
        "mcp__a__stale",
    ]


def test_ties_are_broken_by_use() -> None:
    often = listed("mcp__b__read", 1, server="b", uses=7)
    assert names(ordered("q", [listed("mcp__a__read", 1, server="a"), often], {1: 0.5}))[0] == "mcp__b__read"


def test_of_one_name_the_row_nearest_to_being_usable_is_shown_once() -> None:
    shadowed = listed("mcp__files__read_file", 1, server="files", decision=HIDDEN)
    assert [item.decision for item in ordered("q", [shadowed, READ, shadowed], {1: 0.5})] == [VISIBLE]


GITHUB = listed("mcp__github__*", 5, server="github", kind=Kind.MCP_SERVER)
ISSUE = listed("mcp__github__create_issue", 6, server="github")


def test_a_query_about_a_server_alone_finds_its_row_and_its_best_tools() -> None:
    others = [listed(f"mcp__github__close_{each}", None, server="github") for each in range(5)]
    found = names(ordered("github", [*others, ISSUE, GITHUB], {5: 0.4, 6: 0.6}))
    assert found[:2] == ["mcp__github__*", "mcp__github__create_issue"]
    assert len(found) == 4


@pytest.mark.parametrize(
    "query",
    [
        "GitHub",
        "the github server",
        "github mcp",
        "githb",
        "MCP server of GitHub",
        "the tools of github",
        "use github",
    ],
)
def test_a_query_that_means_a_server_has_its_row_and_its_tools_first(query: str) -> None:
    found = ordered(query, [ISSUE, GITHUB, READ], {1: 0.9, 5: 0.1, 6: 0.6})
    assert names(found) == [GITHUB.tool.name, ISSUE.tool.name, READ.tool.name]


def test_a_query_that_means_a_server_does_not_lift_what_it_no_longer_lists() -> None:
    gone = listed("mcp__github__create_pull", 7, server="github", status=ToolStatus.STALE)
    found = ordered("github", [gone, ISSUE, GITHUB, READ], {1: 0.9, 5: 0.1, 6: 0.6})
    assert names(found) == [GITHUB.tool.name, ISSUE.tool.name, READ.tool.name, gone.tool.name]


def test_a_part_of_a_servers_name_means_it_unless_a_tool_has_it_in_its_name() -> None:
    brave = listed("mcp__brave-search__*", 7, server="brave-search", kind=Kind.MCP_SERVER)
    web = listed("mcp__brave-search__web", 8, server="brave-search")
    find = listed("mcp__brave-search__search_news", 9, server="brave-search")
    assert names(ordered("brave", [brave, web], {7: 0.4})) == [brave.tool.name, web.tool.name]
    assert names(ordered("brave", [brave, web], {7: 0.4, 8: 0.6})) == [web.tool.name, brave.tool.name]
    assert names(ordered("search", [brave, web, find], {7: 0.4, 8: 0.6, 9: 0.7})) == [
        find.tool.name,
        web.tool.name,
    ]


def test_generic_words_mean_no_server() -> None:
    for query in ("mcp server", "use tools"):
        assert names(ordered(query, [ISSUE, GITHUB], {5: 0.6, 6: 0.4})) == [ISSUE.tool.name]


def scored(*scores: float) -> list[RankedTool]:
    return [RankedTool(READ.tool, VISIBLE, score) for score in scores]


def shown(query: str, ranked: list[RankedTool], fusion: Fusion | RankFusion) -> list[float]:
    return [item.score for item in worth_showing(query, ranked, fusion)]


def test_what_scores_far_below_the_best_is_not_shown() -> None:
    assert shown("read a file", scored(0.9, 0.3, 0.08, 0.07, 0.02), Fusion()) == [0.9, 0.3, 0.08]
    assert shown("read a file", scored(0.1, 0.05, 0.02, 0.01), Fusion()) == [0.1, 0.05, 0.02]


def test_where_a_query_asks_for_several_things_only_noise_is_not_shown() -> None:
    several = "read the file, then send a mail"
    assert shown(several, scored(0.9, 0.07, 0.02, 0.01), Fusion()) == [0.9, 0.07, 0.02]


def test_where_even_the_best_is_noise_nothing_is_shown() -> None:
    assert shown("orchids", scored(0.05, 0.04), Fusion()) == []
    assert shown("orchids", [], Fusion()) == []


def test_scores_that_are_not_calibrated_hide_nothing() -> None:
    assert shown("read", scored(1.0, 0.001), RankFusion()) == [1.0, 0.001]


def test_a_query_about_one_of_its_tools_finds_that() -> None:
    assert names(ordered("github create issue", [ISSUE, GITHUB], {5: 0.7, 6: 0.6})) == [
        "mcp__github__create_issue"
    ]


def test_a_server_whose_tools_are_not_known_stands_for_them() -> None:
    assert names(ordered("github create issue", [GITHUB], {5: 0.7})) == ["mcp__github__*"]


def test_a_tool_that_bears_its_servers_name_is_found_before_its_other_tools() -> None:
    tool = listed("mcp__github__github", 7, server="github")
    found = ordered("github", [tool, ISSUE, GITHUB], {5: 0.4, 6: 0.6, 7: 0.4})
    assert names(found) == [GITHUB.tool.name, tool.tool.name, ISSUE.tool.name]


def test_a_score_is_between_0_and_1_and_grows_with_words_and_meaning() -> None:
    hits = [Hit(1, 0.0, 0.1), Hit(2, 5.0, 0.1), Hit(3, 5.0, 0.8), Hit(4, 900.0, 1.0), Hit(5, 0.0, None)]
    scores = Fusion().scores(hits)
    assert 0 <= scores[5] < scores[1] < scores[2] < scores[3] < scores[4] <= 1


def test_words_that_match_by_chance_in_a_long_query_say_less() -> None:
    alone = Fusion().scores([Hit(1, 8.0, 0.5)])[1]
    beside_better = Fusion().scores([Hit(1, 8.0, 0.5), Hit(2, 40.0, 0.5)])[1]
    assert beside_better < alone / 2
    assert Fusion().scores([]) == {}


def test_a_tool_that_answers_one_part_of_a_query_counts_by_that_too() -> None:
    fusion = Fusion(part_weight=0.5)
    assert fusion.raw(Hit(1, 0.0, 0.3, 0.9)) == pytest.approx((0.3 + 0.45) / 1.5)
    assert fusion.raw(Hit(1, 0.0, 0.3)) == 0.3


def test_rank_fusion_counts_ranks_alone() -> None:
    scores = RankFusion().scores([Hit(1, 9.0, 0.9), Hit(2, 1.0, 0.1), Hit(3, 0.0, 0.5), Hit(4, 2.0, None)])
    assert scores[1] == 1.0
    assert scores[2] == pytest.approx((61 / 63 + 61 / 63) / 2)
    assert scores[3] == pytest.approx(61 / 62 / 2)
    assert scores[4] == pytest.approx(61 / 62 / 2)


@pytest.mark.parametrize(
    ("one", "other", "is_off"),
    [
        ("commit", "commit", True),
        ("comit", "commit", True),
        ("committ", "commit", True),
        ("cammit", "commit", True),
        ("ocmmit", "commit", True),
        ("aaa", "aaaa", True),
        ("comet", "commit", False),
        ("timmoc", "commit", False),
        ("abcd", "badc", False),
    ],
)
def test_one_letter_may_be_wrong(one: str, other: str, is_off: bool) -> None:
    assert is_one_letter_off(one, other) is is_off


def test_a_short_name_has_no_letter_to_spare() -> None:
    found = NameMatches([listed("get").tool])
    assert found.find("gat") == {}
    assert found.find("GET") == {"get": NameMatch.SAME_WORDS}


def test_a_command_is_named_with_and_without_its_sign() -> None:
    found = NameMatches([listed("/deploy", kind=Kind.SLASH_COMMAND).tool])
    assert found.find("deploy") == found.find("/deploy") == {"/deploy": NameMatch.EXACT}


@pytest.mark.parametrize("query", ["", "   ", "!!", "mcp__files__read_file " * 20])
def test_a_query_without_letters_names_nothing(query: str) -> None:
    assert NameMatches([READ.tool]).find(query) == {}


def test_a_word_of_another_name_is_not_taken_for_a_mistyped_one() -> None:
    clean, cache = listed("clean").tool, listed("clear_cache").tool
    assert NameMatches([clean, cache]).find("clear") == {}
    assert NameMatches([clean, cache]).find("cleam") == {"clean": NameMatch.ONE_LETTER}
    assert NameMatches([clean]).find("clear") == {"clean": NameMatch.ONE_LETTER}


def test_of_tools_with_the_name_that_was_asked_for_those_that_can_be_used_come_first() -> None:
    gone = listed("mcp__a__go", 1, server="a", status=ToolStatus.STALE, uses=9, decision=HIDDEN)
    failing = listed("mcp__b__go", 2, server="b", status=ToolStatus.DEMOTED, uses=5)
    well = listed("mcp__c__go", 3, server="c")
    assert names(ordered("go", [gone, failing, well], {})) == ["mcp__c__go", "mcp__b__go", "mcp__a__go"]


def test_a_querys_best_part_counts_beside_the_whole() -> None:
    fusion = Fusion(part_weight=0.5)
    assert fusion.by_meaning(Hit(1, 0, 0.4, part=0.7)) == pytest.approx((0.4 + 0.5 * 0.7) / 1.5)
    assert fusion.by_meaning(Hit(1, 0, 0.4)) == 0.4
