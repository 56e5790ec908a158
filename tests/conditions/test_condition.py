"""What conditions mean."""

import math

import pytest

from remit.conditions.condition import Condition, condition
from remit.decision.requirements import LocationScope, StateScope
from remit.decision.state_snapshot import Snapshot, StateValue
from remit.errors import ConditionError

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
        "key": "branch",
        "location": {
            "page": "/blog/7",
            "route": "post",
            "components": ["BlogEditor", "Toolbar"],
            "elements": ["#save"],
        },
    },
)


def truth_of(read_one: Condition, snapshot: Snapshot = HERE) -> bool | None:
    return read_one.truth(snapshot)


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "yes",
        "state('on') && !state('off')",
        "git.branch == 'main'",
        "'main' == git.branch",
        "git['branch'] != 'x'",
        "git['b-c'] == 1",
        "git.commits == 3.0 && 3 == 3.0",
        "one == 1 && one != true && yes != 1 && zero != false && no != 0",
        "yes == true && no == false && true == yes",
        "git.none == null && git.branch != null && null == null",
        "git.commits < 4 && git.commits >= 3 && 4 > git.commits && git.ratio <= 2.5",
        "git.branch < 'n' && 'a' <= git.branch && 'B' < 'a'",
        "false < true && no < yes",
        "git.commits < git.ratio || git.ratio < git.commits",
        "nan != nan && !(nan == nan) && !(nan < 1) && !(nan >= 1)",
        "big == 9007199254740992.0 && big >= 9007199254740993.0",  # cel-cpp compares them as doubles
        "big == 9007199254740993 && big != 9007199254740992",
        "git.branch in ['dev', 'main'] && !(git.branch in [])",
        "git.commits in [3.0, 7] && git.commits in [1, 3]",
        "1 in tags && 'a' in tags && null in tags && ['x'] in tags && !('b' in tags)",
        "!(0 in [false]) && !(true in [1])",
        "'branch' in git && key in git && !('x' in git) && !(1 in git) && !(1.5 in git) && !(true in git)",
        "[1, 'a'] == [1.0, 'a'] && [1] != [true] && [1] != [1, 2]",
        "git == git && git != tags && tags != git",
        "has(git.branch) && !has(git.nope)",
        "size(git) == 6 && size(tags) > 6 && size(text) == 2 && size('') == 0 && size([1, 2]) < 3",
        "git.branch.startsWith('ma') && git.branch.endsWith('in') && git.branch.contains('ai')",
        "!git.branch.startsWith('x') && !git.branch.endsWith('x') && !git.branch.contains('x')",
        "'main/x'.startsWith(git.branch) && git.branch.contains('')",
        "matchPath(location.page, '/blog/:id') && !matchPath(location.page, '/blog')",
        "(git.commits < 4) == true && (yes && yes) == yes",
        # What fails does not count where the rest settles it, on either side.
        "true || nope",
        "nope || true",
        "!(false && nope)",
        "!(nope && false)",
        "state('hung') || state('on')",
        "git.commits || true",
        "!(git.branch && false)",
        "!(state('hung') && state('on') && state('off'))",
        "tags.x == 1 || git.branch.x == 1 || state('on')",
    ],
)
def test_holds(text: str) -> None:
    assert truth_of(condition(when=text)) is True


@pytest.mark.parametrize(
    "text",
    [
        "state('hung')",
        "!state('hung')",
        "state('undeclared')",
        "state('hung') && state('on')",
        "state('hung') || state('off')",
        "state('hung') == true",
        "nope",
        "nope == 1",
        "git.nope == 1",
        "git.branch.x == 1",
        "git.commits.x == 1",
        "tags['x'] == 1",
        "git.branch",
        "!git.commits",
        "git.commits && true",
        "tags || false",
        "'x' || false",
        "git.commits < 'x'",
        "git.branch < 3",
        "git.branch < git.commits",
        "yes < 3",
        "3 > yes",
        "yes < 9007199254740993",
        "git.none < 1",
        "tags < tags",
        "'a' in 'abc'",
        "1 in one",
        "null in git",
        "tags in git",
        "has(git.branch.x)",
        "has(git.nope.x)",
        "has(tags.x)",
        "size(one) == 1",
        "size(git.none) == 1",
        "one.startsWith('a')",
        "tags.contains('a')",
        "git.branch.startsWith(one)",
        "git.branch.contains(one)",
        "git.branch.endsWith(tags)",
        "matchPath(one, '/a')",
        "matchPath(git.nope, '/a')",
        "matchPath('/a/../b', '/b')",
        "[nope] == [1]",
        "1 in [nope]",
        "5 == true && nope",
        "size(git)",
    ],
)
def test_has_no_answer_whichever_way_it_is_asked(text: str) -> None:
    assert truth_of(condition(when=text)) is (False if text.startswith("5") else None)


@pytest.mark.parametrize("text", ["false", "no", "1 == 2", "5 == true", "'a' == null", "git.branch == 1"])
def test_does_not_hold(text: str) -> None:
    assert truth_of(condition(when=text)) is False


def test_members_are_looked_up_in_maps_and_nowhere_else() -> None:
    for text in ("git.__class__ == 1", "git.keys == 1", "git.branch.upper == 1", "__builtins__ == 1"):
        assert truth_of(condition(when=text)) is None
    assert truth_of(condition(when="has(git.__class__)")) is False


def test_each_pattern_of_a_condition_is_matched_by_itself() -> None:
    read_one = condition(when="matchPath(location.page, '/x') || matchPath(location.page, '/blog/*')")
    assert truth_of(read_one) is True


@pytest.mark.parametrize(
    ("scope", "truth"),
    [
        (StateScope(), True),
        (StateScope(all=("on",)), True),
        (StateScope(all=("on", "off")), False),
        (StateScope(all=("on", "hung")), None),
        (StateScope(all=("off", "hung")), False),
        (StateScope(any=("off", "on")), True),
        (StateScope(any=("hung", "on")), True),
        (StateScope(any=("hung", "off")), None),
        (StateScope(any=("off",)), False),
        (StateScope(none=("off",)), True),
        (StateScope(none=("on",)), False),
        (StateScope(none=("hung",)), None),
        (StateScope(all=("on",), any=("off", "on"), none=("off",)), True),
    ],
)
def test_states_are_asked_for_without_writing_a_condition(scope: StateScope, truth: bool | None) -> None:
    assert truth_of(condition(states=scope)) is truth


@pytest.mark.parametrize(
    ("scope", "truth"),
    [
        (LocationScope(), True),
        (LocationScope(pages=("/blog", "/blog/*")), True),
        (LocationScope(pages=("/blog",)), False),
        (LocationScope(routes=("post", "page")), True),
        (LocationScope(routes=("page",)), False),
        (LocationScope(components=("Blog*", "Toolbar")), True),
        (LocationScope(components=("Blog*", "Sidebar")), False),  # each of them has to be there
        (LocationScope(elements=("#save",)), True),
        (LocationScope(pages=("/blog/**",), elements=("#delete",)), False),
    ],
)
def test_a_location_is_asked_for_without_writing_a_condition(scope: LocationScope, truth: bool) -> None:
    assert truth_of(condition(location=scope)) is truth


def test_a_location_that_nobody_told_is_not_known() -> None:
    nowhere = Snapshot(variables={"location": {"components": "Editor", "elements": ["a", 1]}})
    assert truth_of(condition(location=LocationScope(pages=("**",))), nowhere) is None
    assert truth_of(condition(location=LocationScope(components=("**",))), nowhere) is None
    assert truth_of(condition(location=LocationScope(elements=("**",))), nowhere) is None


def test_all_that_a_tool_asks_for_has_to_hold() -> None:
    when, location = "git.branch == 'main'", LocationScope(pages=("/blog/**",))
    assert truth_of(condition(states=StateScope(all=("on",)), when=when, location=location)) is True
    assert truth_of(condition(states=StateScope(all=("off",)), when=when, location=location)) is False
    assert truth_of(condition()) is True


@pytest.mark.parametrize(
    ("states", "location", "name"),
    [
        (StateScope(any=()), None, "any"),
        (None, LocationScope(pages=()), "pages"),
        (None, LocationScope(routes=()), "routes"),
        (None, LocationScope(components=()), "components"),
        (None, LocationScope(elements=()), "elements"),
    ],
)
def test_one_of_nothing_is_an_error(
    states: StateScope | None, location: LocationScope | None, name: str
) -> None:
    with pytest.raises(ConditionError, match=f"`{name}` is empty"):
        condition(states=states, location=location)


def test_a_condition_tells_what_it_asks_about() -> None:
    read_one = condition(
        states=StateScope(all=("a",), none=("b",)),
        when="state('c') || has(git.branch) && size(app['x-y'].z) in [flag] || matchPath(name, '/x')",
        location=LocationScope(pages=("/x",), components=("C",)),
    )
    assert read_one.mentions.states == {"a", "b", "c"}
    assert read_one.mentions.variables == {
        ("git", "branch"),
        ("app", "x-y", "z"),
        ("flag",),
        ("name",),
        ("location", "page"),
        ("location", "components"),
    }
