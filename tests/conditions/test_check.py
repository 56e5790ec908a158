import pytest

from remit.conditions.check import LOCATION, Flaw, Vocabulary, check
from remit.conditions.condition import condition
from remit.conditions.syntax import CelType
from remit.decision.requirements import LocationScope, StateScope

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
        "git.branch in ['a', 'b'] && git.commits in [1, 'a'] && 'x' in tags && 1 in env && any in [1.5]",
        "tags == [1, 2] && [] == tags && tags == ['a', 1] && [[any]] == [[2]]",
        "size(tags) > 1 && size(env) == 2 && size(git.branch) == 3 && size(git) == 4 && size(any) == 1",
        "has(git.branch) && has(env.HOME) && has(env.a.b) && has(any.x.y)",
        "env['A-B'] == 'x' && env.A.B == 1",
        "git.branch.startsWith(any) && any.contains('x')",
        "matchPath(location.page, '/blog') && location.depth < 3 && location.selected.type == 'post'",
        "(git.commits == 1) == git.dirty && any == null",
    ],
)
def test_nothing_is_wrong_with_a_right_condition(text: str) -> None:
    assert check(condition(when=text), KNOWN) == []


@pytest.mark.parametrize(
    ("text", "flaw", "message", "hint", "place"),
    [
        (
            "state('git-initialised')",
            Flaw.NAME,
            "unknown state `git-initialised`",
            "did you mean `git-initialized`?",
            (1, 1),
        ),
        (
            "state('zzz')",
            Flaw.NAME,
            "unknown state `zzz`",
            "declare it, or use one that `remit states` lists",
            (1, 1),
        ),
        (
            "state('admin') &&\n  git.brnch == 'x'",
            Flaw.NAME,
            "unknown variable `git.brnch`",
            "did you mean `git.branch`?",
            (2, 3),
        ),
        ("has(git.dirt)", Flaw.NAME, "unknown variable `git.dirt`", "did you mean `git.dirty`?", (1, 5)),
        ("gi.branch == 'x'", Flaw.NAME, "unknown variable `gi`", "did you mean `git`?", (1, 1)),
        (
            "kubernetes == 1",
            Flaw.NAME,
            "unknown variable `kubernetes`",
            "expected one of `any`, `env`, `git`, `location`, `tags`",
            (1, 1),
        ),
        ("git.branch == 1", Flaw.TYPE, "`git.branch == 1` compares a string with an int", None, (1, 12)),
        (
            "git.commits == '3'",
            Flaw.TYPE,
            "`git.commits == '3'` compares an int with a string",
            "write `3` without quotes",
            (1, 13),
        ),
        (
            "git.commits > 1.5",
            Flaw.TYPE,
            "`git.commits > 1.5` compares an int with a double",
            "write whole numbers with `.0` to compare them with doubles, and without for ints",
            (1, 13),
        ),
        ("git.branch == null", Flaw.TYPE, "`git.branch == null` compares a string with null", None, (1, 12)),
        ("tags == 1", Flaw.TYPE, "`tags == 1` compares a list with an int", None, (1, 6)),
        ("[1] == ['a']", Flaw.TYPE, "`[1] == ['a']` compares a list with a list of others", None, (1, 5)),
        ("git == 1", Flaw.TYPE, "`git == 1` compares a map with an int", None, (1, 5)),
        ("tags < tags", Flaw.TYPE, "`tags < tags` orders a list, which has no order", None, (1, 6)),
        ("any < null", Flaw.TYPE, "`any < null` orders null, which has no order", None, (1, 5)),
        ("git.branch", Flaw.TYPE, "`git.branch` is a string, not true or false", None, (1, 1)),
        ("true && git.commits", Flaw.TYPE, "`git.commits` is an int, not true or false", None, (1, 9)),
        ("!tags", Flaw.TYPE, "`tags` is a list, not true or false", None, (1, 2)),
        ("size(git.branch)", Flaw.TYPE, "`size(git.branch)` is an int, not true or false", None, (1, 1)),
        ("size(git.commits) > 1", Flaw.TYPE, "`git.commits` is an int, which has no size", None, (1, 6)),
        ("git.branch.x == 1", Flaw.TYPE, "`git.branch` is a string, which has no members", None, (1, 1)),
        (
            "git.commits.startsWith('x')",
            Flaw.TYPE,
            "`git.commits` is an int, not a string",
            None,
            (1, 1),
        ),
        ("git.branch.contains(1)", Flaw.TYPE, "`1` is an int, not a string", None, (1, 21)),
        ("matchPath(tags, '/x')", Flaw.TYPE, "`tags` is a list, not a string", None, (1, 11)),
        (
            "'x' in git.branch",
            Flaw.TYPE,
            "`in` does not work on a string",
            "write `.contains(...)` to look inside a text",
            (1, 5),
        ),
        ("1 in git.commits", Flaw.TYPE, "`in` does not work on an int", None, (1, 3)),
        (
            "git.branch in [1, 2]",
            Flaw.TYPE,
            "`git.branch in [1, 2]` looks for a string where each is an int",
            None,
            (1, 12),
        ),
        (
            "state('admin') && !state('admin')",
            Flaw.NEVER,
            "`state('admin')` and `!state('admin')` can never both hold",
            None,
            (1, 19),
        ),
        ("git.dirty && false", Flaw.NEVER, "`false` can never hold", None, (1, 14)),
        ("1 == 2", Flaw.NEVER, "`1 == 2` can never hold", None, (1, 3)),
    ],
)
def test_a_mistake_is_told_with_its_place(
    text: str, flaw: Flaw, message: str, hint: str | None, place: tuple[int, int]
) -> None:
    (mistake,) = check(condition(when=text), KNOWN)
    assert (mistake.flaw, mistake.message, mistake.hint) == (flaw, message, hint)
    assert (mistake.line, mistake.column) == place


def test_all_mistakes_are_told_in_the_order_of_the_text() -> None:
    found = check(condition(when="git.brnch == 1 &&\ngit.commits == 'x' || state('amdin')"), KNOWN)
    assert [(mistake.flaw, mistake.line, mistake.column) for mistake in found] == [
        (Flaw.NAME, 1, 1),
        (Flaw.TYPE, 2, 13),
        (Flaw.NAME, 2, 23),
    ]


def test_what_follows_from_a_mistake_is_no_other() -> None:
    assert (
        len(
            check(
                condition(when="git.brnch.startsWith('x') && size(git.brnch) > 3 && gone.x.y in gone"), KNOWN
            )
        )
        == 4
    )


def test_states_and_locations_are_checked_without_a_text() -> None:
    read_one = condition(states=StateScope(all=("amin",)), location=LocationScope(components=("X",)))
    (mistake,) = check(read_one, KNOWN)
    assert (mistake.flaw, mistake.hint, mistake.line) == (Flaw.NAME, "did you mean `admin`?", None)
    (other,) = check(
        read_one, Vocabulary(states=("amin",), variables={"location": {"components": CelType.STRING}})
    )
    assert other.message == "`location.components` is a string, not a list"


def test_parts_that_were_not_written_can_contradict_what_was() -> None:
    read_one = condition(states=StateScope(all=("admin",)), when="git.dirty && !state('admin')")
    (mistake,) = check(read_one, KNOWN)
    assert (mistake.message, mistake.line, mistake.column) == (
        "`state('admin')` and `git.dirty && !state('admin')` can never both hold",
        1,
        1,
    )
    (unwritten,) = check(condition(states=StateScope(all=("admin",), none=("admin",))), KNOWN)
    assert (unwritten.flaw, unwritten.line) == (Flaw.NEVER, None)


def test_a_location_is_known_where_nothing_else_is() -> None:
    assert check(condition(when="location.page == '/x' && location.modal != 'y'"), Vocabulary()) == []
    (mistake,) = check(condition(when="x == 1"), Vocabulary(variables={}))
    assert (mistake.message, mistake.hint) == ("unknown variable `x`", None)
