import pytest

from remit.decision.when import (
    LOCATION,
    CelType,
    Condition,
    LocationScope,
    StateScope,
    Vocabulary,
    mistakes_in,
)

KNOWN = Vocabulary(
    states={"git-initialized", "project-loaded", "admin"},
    variables={
        "git": {
            "branch": CelType.STRING,
            "commits": CelType.INT,
            "ratio": CelType.DOUBLE,
            "dirty": CelType.BOOL,
        },
        "tags": CelType.LIST,
        "env": CelType.MAP,
        "any": CelType.DYN,
        "location": LOCATION,
    },
)


@pytest.mark.parametrize(
    "text",
    [
        "state('admin') && git.branch != 'main'",
        "git.dirty && any && !any.x",
        "git.commits > 3 && git.ratio < 2.5 && git.branch < 'x' && git.dirty < true",
        "any > 3 && any == 'x' || any in any",
        "git.branch in ['a', 'b'] && 'x' in tags && 1 in env && any in [1.5]",
        "tags == [1, 2] && size(tags) > 1 && size(env) == 2 && size(git.branch) == 3 && size(any) == 1",
        "has(git.branch) && has(env.HOME) && has(any.x.y) && env['A-B'] == 'x' && env.A.B == 1",
        "git.branch.startsWith(any) && any.contains('x')",
        "matchPath(location.page, '/blog') && location.depth < 3 && location.selected.type == 'post'",
        "(git.commits == 1) == git.dirty && any == null",
    ],
)
def test_a_right_condition_has_no_mistakes(text: str) -> None:
    assert mistakes_in(Condition(when=text), KNOWN) == []


@pytest.mark.parametrize(
    ("text", "message", "hint", "column"),
    [
        ("state('git-initialised')", "unknown state `git-initialised`", "did you mean `git-initialized`?", 1),
        ("state('zzz')", "unknown state `zzz`", "declare it, or use one that `remit states` lists", 1),
        ("has(git.dirt)", "unknown variable `git.dirt`", "did you mean `git.dirty`?", 5),
        ("gi.branch == 'x'", "unknown variable `gi`", "did you mean `git`?", 1),
        (
            "kubernetes == 1",
            "unknown variable `kubernetes`",
            "expected one of `any`, `env`, `git`, `location`, `tags`",
            1,
        ),
    ],
)
def test_unknown_names_are_mistakes_that_another_file_may_resolve(
    text: str, message: str, hint: str, column: int
) -> None:
    (mistake,) = mistakes_in(Condition(when=text), KNOWN)
    assert (mistake.message, mistake.hint, mistake.line, mistake.column) == (message, hint, 1, column)
    assert mistake.is_unknown_name


@pytest.mark.parametrize(
    ("text", "message", "hint", "column"),
    [
        ("git.branch != 3", "`git.branch != 3` compares a string with an int", None, 12),
        (
            "git.commits == '3'",
            "`git.commits == '3'` compares an int with a string",
            "write `3` without quotes",
            13,
        ),
        (
            "git.commits > 1.5",
            "`git.commits > 1.5` compares an int with a double",
            "write whole numbers with `.0` to compare them with doubles, and without for ints",
            13,
        ),
        ("git.branch == null", "`git.branch == null` compares a string with null", None, 12),
        ("git == 1", "`git == 1` compares a map with an int", None, 5),
        ("tags < tags", "`tags < tags` orders a list, which has no order", None, 6),
        ("any < null", "`any < null` orders null, which has no order", None, 5),
        ("git.branch", "`git.branch` is a string, not true or false", None, 1),
        ("true && git.commits", "`git.commits` is an int, not true or false", None, 9),
        ("!tags", "`tags` is a list, not true or false", None, 2),
        ("size(git.commits) > 1", "`git.commits` is an int, which has no size", None, 6),
        ("git.branch.x == 1", "`git.branch` is a string, which has no members", None, 1),
        ("git.branch.contains(1)", "`1` is an int, not a string", None, 21),
        ("matchPath(tags, '/x')", "`tags` is a list, not a string", None, 11),
        (
            "'x' in git.branch",
            "`in` does not work on a string",
            "write `.contains(...)` to look inside a text",
            5,
        ),
        ("1 in [git.brnch]", "unknown variable `git.brnch`", "did you mean `git.branch`?", 7),
    ],
)
def test_types_that_never_compare_are_mistakes(
    text: str, message: str, hint: str | None, column: int
) -> None:
    (mistake,) = mistakes_in(Condition(when=text), KNOWN)
    assert (mistake.message, mistake.hint, mistake.line, mistake.column) == (message, hint, 1, column)
    assert mistake.is_unknown_name is message.startswith("unknown")


def test_all_mistakes_are_listed_in_text_order_and_nothing_follows_from_one() -> None:
    text = "git.brnch == 1 &&\ngit.commits == 'x' || state('amdin') || gone.x.y in gone"
    mistakes = mistakes_in(Condition(when=text), KNOWN)
    assert [(mistake.line, mistake.column) for mistake in mistakes] == [
        (1, 1),
        (2, 13),
        (2, 23),
        (2, 41),
        (2, 53),
    ]


def test_states_and_locations_are_checked_too() -> None:
    condition = Condition(StateScope(all=("amin",)), location=LocationScope(components=("X",)))
    (mistake,) = mistakes_in(condition, KNOWN)
    assert (mistake.key, mistake.hint, mistake.line) == ("states", "did you mean `admin`?", 0)
    vocabulary = Vocabulary(("amin",), {"location": {"components": CelType.STRING}})
    (mistake,) = mistakes_in(condition, vocabulary)
    assert (mistake.key, mistake.message) == ("location", "`location.components` is a string, not a list")


def test_a_location_is_known_where_nothing_else_is() -> None:
    text = "location.page == '/x' && location.modal != 'y'"
    assert mistakes_in(Condition(when=text), Vocabulary()) == []
    (mistake,) = mistakes_in(Condition(when="x == 1"), Vocabulary(variables={}))
    assert (mistake.message, mistake.hint) == ("unknown variable `x`", None)
