"""What conditions mean."""

import math

import pytest

from remit.decision import Snapshot, StateValue
from remit.decision.when import Condition, LocationScope, StateScope, Vocabulary, mistakes_in

HERE = Snapshot(
    states={
        "on": StateValue(True, "found"),
        "off": StateValue(False, "not found"),
        "hung": StateValue(None, "timed out after 500 ms"),
    },
    variables={
        "git": {"branch": "main", "commits": 3, "ratio": 2.5, "dirty": True, "b-c": 1, "none": None},
        "tags": ["a", 1, 2.5, True, None, ["x"], {"k": 1}],
        "zero": 0,
        "one": 1,
        "yes": True,
        "no": False,
        "nan": math.nan,
        "big": 2**53 + 1,
        "text": "é😀",
        "location": {
            "page": "/blog/7",
            "route": "post",
            "components": ["BlogEditor", "Toolbar"],
            "elements": ["#save"],
        },
    },
)


def truth_of(text: str) -> bool | None:
    return Condition(when=text).truth(HERE)


@pytest.mark.parametrize(
    "text",
    [
        "yes && state('on') && !state('off')",
        "git['branch'] == 'main' && git['b-c'] == 1 && git.branch != 'x'",
        "git.commits < 4 && git.commits >= 3 && git.ratio <= 2.5 && git.branch < 'n' && no < yes",
        "git.commits in [3.0, 7] && 'a' in tags && null in tags && ['x'] in tags && !('b' in tags)",
        "'branch' in git && !('x' in git) && !(1 in git)",
        "[1, 'a'] == [1.0, 'a'] && [1] != [1, 2] && git == git && git != tags",
        "has(git.branch) && !has(git.nope) && size(git) == 6 && size(text) == 2",
        "git.branch.startsWith('ma') && git.branch.endsWith('in') && git.branch.contains('ai')",
        "matchPath(location.page, '/blog/:id') && !matchPath(location.page, '/blog')",
        "nan != nan && !(nan == nan) && !(nan < 1)",
    ],
)
def test_holds(text: str) -> None:
    assert truth_of(text) is True


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("git.commits == 3.0 && git.commits < 3.5", True),
        ("big == 9007199254740992.0 && big >= 9007199254740993.0", True),  # cel-cpp compares them as doubles
        ("big == 9007199254740993 && big != 9007199254740992", True),
        ("one != true && yes != 1 && zero != false && !(0 in [false]) && [1] != [true]", True),
        ("yes < 3", None),
        ("3 > yes", None),
    ],
)
def test_ints_and_doubles_compare_as_doubles_and_booleans_are_not_numbers(
    text: str, truth: bool | None
) -> None:
    assert truth_of(text) is truth


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("nope || true", True),
        ("true || nope", True),
        ("!(nope && false)", True),
        ("state('hung') || state('on')", True),
        ("git.commits || true", True),
        ("state('hung') && state('off')", False),
        ("state('hung') && state('on')", None),
        ("nope || false", None),
        ("git.branch && true", None),
        ("!state('hung')", None),
    ],
)
def test_a_failed_part_counts_only_where_the_others_settle_nothing(text: str, truth: bool | None) -> None:
    assert truth_of(text) is truth


@pytest.mark.parametrize(
    "text",
    [
        *("state('undeclared')", "state('hung') == true", "nope == 1", "git.nope == 1", "git.branch.x == 1"),
        *("git.branch", "!git.commits", "git.commits < 'x'", "git.none < 1", "tags < tags"),
        *("'a' in 'abc'", "null in git", "tags in git", "has(git.branch.x)", "has(git.nope.x)"),
        *("size(one) == 1", "one.startsWith('a')", "git.branch.contains(one)", "matchPath(one, '/a')"),
        *("matchPath('/a/../b', '/b')", "!matchPath('/a/../b', '/b')", "[nope] == [1]", "size(git)"),
        *("git.__class__ == 1", "git.keys == 1", "git.branch.upper == 1", "__builtins__ == 1"),
    ],
)
def test_has_no_value(text: str) -> None:
    assert truth_of(text) is None


@pytest.mark.parametrize(
    ("scope", "truth"),
    [
        (StateScope(), True),
        (StateScope(all=("on", "off")), False),
        (StateScope(all=("on", "hung")), None),
        (StateScope(all=("off", "hung")), False),
        (StateScope(any=("hung", "on")), True),
        (StateScope(any=("hung", "off")), None),
        (StateScope(none=("off",)), True),
        (StateScope(none=("hung",)), None),
        (StateScope(all=("on",), any=("off", "on"), none=("off",)), True),
    ],
)
def test_states_are_required_without_writing_a_condition(scope: StateScope, truth: bool | None) -> None:
    assert Condition(scope).truth(HERE) is truth


@pytest.mark.parametrize(
    ("scope", "truth"),
    [
        (LocationScope(), True),
        (LocationScope(pages=("/blog", "/blog/*")), True),
        (LocationScope(pages=("/blog",)), False),
        (LocationScope(routes=("post", "page")), True),
        (LocationScope(components=("Blog*", "Toolbar")), True),
        (LocationScope(components=("Blog*", "Sidebar")), False),  # each of them must be shown
        (LocationScope(pages=("/blog/**",), elements=("#save",)), True),
    ],
)
def test_a_location_is_required_without_writing_a_condition(scope: LocationScope, truth: bool) -> None:
    assert Condition(location=scope).truth(HERE) is truth


def test_a_location_that_was_not_told_is_unknown() -> None:
    nowhere = Snapshot(variables={"location": {"components": "Editor", "elements": ["a", 1]}})
    for scope in (
        LocationScope(pages=("**",)),
        LocationScope(components=("**",)),
        LocationScope(elements=("**",)),
    ):
        assert Condition(location=scope).truth(nowhere) is None


def test_states_when_and_location_must_all_hold() -> None:
    on, branch, blog = StateScope(all=("on",)), "git.branch == 'main'", LocationScope(pages=("/blog/**",))
    assert Condition(on, branch, blog).truth(HERE) is True
    assert Condition(StateScope(all=("off",)), branch, blog).truth(HERE) is False
    assert Condition(on, "git.branch == 'x'", blog).truth(HERE) is False
    assert Condition(on, branch, LocationScope(pages=("/x",))).truth(HERE) is False
    assert Condition().truth(HERE) is True


@pytest.mark.parametrize(
    ("condition", "key", "message"),
    [
        (Condition(StateScope(any=())), "states", "`any` is empty, so the condition can never hold"),
        (
            Condition(location=LocationScope(pages=())),
            "location",
            "`pages` is empty, so the condition can never hold",
        ),
        (
            Condition(location=LocationScope(routes=("/a//b",))),
            "location",
            "the pattern `/a//b` has an empty segment",
        ),
        (Condition(when="a &&"), "when", "expected a value, found the end"),
    ],
)
def test_an_invalid_condition_never_holds_and_says_why(condition: Condition, key: str, message: str) -> None:
    assert condition.judge(HERE) == StateValue(None, f"its condition is invalid: {message}")
    assert condition.summary(HERE) == "its condition is invalid"
    assert condition.missing(HERE) == []
    (mistake,) = mistakes_in(condition, Vocabulary())
    assert (mistake.key, mistake.message) == (key, message)


def test_a_condition_names_what_it_reads() -> None:
    condition = Condition(
        StateScope(all=("a",), none=("b",)),
        "state('c') || has(git.branch) && size(app['x-y'].z) in [flag] || matchPath(name, '/x')",
        LocationScope(pages=("/x",), components=("C",)),
    )
    paths = {("git", "branch"), ("app", "x-y", "z"), ("flag",), ("name",), ("location", "page")}
    assert condition.mentions.states == {"a", "b", "c"}
    assert condition.mentions.variables == paths | {("location", "components")}
    assert condition.arguments == ()


def test_the_required_states_that_do_not_hold_are_missing() -> None:
    condition = Condition(
        StateScope(all=("on", "off"), none=("x",)), "!(!state('hung')) && !state('y') || state('off')"
    )
    assert condition.missing(HERE) == ["off", "hung"]


def test_a_rule_does_not_rely_on_withheld_states() -> None:
    for condition, name in (
        (Condition(StateScope(all=("on",)), withheld=("on", "off")), "on"),
        (Condition(when="entities.off > 0 || state('hung')", withheld=("on", "off")), "off"),
        (Condition(when="!state('off') && args.x == 1", withheld=("off",)), "off"),
    ):
        reason = f"needs state {name}, which only the project's own files declare"
        assert condition.judge(HERE) == StateValue(None, reason)
        assert condition.summary(HERE) == f"state `{name}` is ignored here"
    assert Condition(StateScope(all=("on",)), withheld=("x",)).judge(HERE).truth is True


def parts_of(text: str) -> tuple[Condition | None, Condition | None]:
    return Condition(when=text).split()


def test_the_parts_that_mention_arguments_are_decided_for_each_call() -> None:
    before, call = parts_of("state('on') && (args.env == 'dev' && git.branch == 'main') && !has(args.force)")
    assert before is not None
    assert call is not None
    assert before.judge(HERE).truth is True
    assert before.arguments == ()
    assert call.arguments == ("args.env", "args.force")
    assert call.judge(HERE, {"env": "dev"}) == StateValue(True, "")
    assert call.judge(HERE, {"env": "live"}) == StateValue(False, "needs args.env == 'dev' (it is 'live')")
    assert call.judge(HERE, {}) == StateValue(None, "needs args.env == 'dev' (args.env is not given)")
    forced = call.judge(HERE, {"env": "dev", "force": True})
    assert forced == StateValue(False, "needs !has(args.force) (there is one)")


def test_an_alternative_that_mentions_arguments_is_decided_for_each_call_as_a_whole() -> None:
    before, call = parts_of("state('off') || args.env == 'dev'")
    assert before is None
    assert call is not None
    assert call.mentions.states == {"off"}
    assert call.judge(HERE, {"env": "dev"}).truth is True
    assert call.judge(HERE, {"env": "x"}).reason == (
        "needs state off (false: not found), or args.env == 'dev' (it is 'x')"
    )


def test_before_a_call_a_condition_on_arguments_is_unknown_where_nothing_else_settles_it() -> None:
    _, call = parts_of("args.env == 'dev'")
    _, settled = parts_of("state('on') || args.env == 'dev'")
    assert call is not None
    assert settled is not None
    assert call.judge(HERE) == StateValue(None, "needs args.env == 'dev' (args is not given)")
    assert settled.judge(HERE).truth is True


def test_without_arguments_a_condition_stays_whole() -> None:
    for text in ("state('on') && git.branch == 'main'", "state('args')", "a &&", "args &&"):
        condition = Condition(when=text)
        assert condition.split() == (condition, None)


def test_only_the_mentioned_arguments_are_read() -> None:
    condition = Condition(when="args.path.startsWith('/data/') && size(args.tags) < 2")
    deep: dict[str, object] = {}
    for _ in range(40):
        deep = {"deep": deep}
    assert (
        condition.judge(HERE, {"path": "/data/x", "tags": ["a"], "deep": deep, "other": object()}).truth
        is True
    )
    assert condition.judge(HERE, {"path": "/data/x", "tags": deep}) == StateValue(
        None, f"`args.tags{'.deep' * 15}` is nested too deeply"
    )
    assert Condition(when="size(args) == 2").judge(HERE, {"a": 1, "b": 2}).truth is True


def test_arguments_do_not_outlive_their_call() -> None:
    condition = Condition(when="args.env == 'dev'")
    assert condition.judge(HERE, {"env": "dev"}).truth is True
    assert condition.judge(HERE).truth is None
    assert condition.judge(HERE, {"env": "x"}).truth is False


def test_a_condition_is_judged_again_for_each_snapshot() -> None:
    condition = Condition(StateScope(all=("a",)))
    assert condition.judge(Snapshot({"a": StateValue(True, "")})).truth is True
    assert condition.judge(Snapshot({"a": StateValue(False, "")})).truth is False
