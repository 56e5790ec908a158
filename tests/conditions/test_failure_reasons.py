import pytest

from remit.conditions.condition import condition
from remit.conditions.failure_reasons import needs
from remit.decision.requirements import LocationScope, StateScope
from remit.decision.state_snapshot import Snapshot, StateValue

HERE = Snapshot(
    states={
        "on": StateValue(True, "found"),
        "off": StateValue(False, "not found"),
        "git-initialized": StateValue(False, "no .git in /code/shop"),
        "hung": StateValue(None, "timed out after 500 ms"),
    },
    variables={
        "git": {"branch": "main", "commits": 3, "tags": ["v1"]},
        "long": "x" * 100,
        "location": {"page": "/home", "components": ["A"]},
    },
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("state('git-initialized')", "needs state git-initialized (false: no .git in /code/shop)"),
        ("state('hung')", "needs state hung (unknown: timed out after 500 ms)"),
        ("!state('on')", "needs state on to be false (true: found)"),
        ("state('ofn')", "needs state ofn (unknown: no such state is declared)"),
        ("git.branch != 'main'", "needs git.branch != 'main' (it is 'main')"),
        ("!(git.branch == 'main')", "needs git.branch != 'main' (it is 'main')"),
        ("git.commits > 5", "needs git.commits > 5 (it is 3)"),
        ("!(git.commits < 5)", "needs git.commits >= 5 (it is 3)"),
        ("git.branch in ['a', 'b']", "needs git.branch in ['a', 'b'] (it is 'main')"),
        ("!(git.branch in ['main'])", "needs git.branch not in ['main'] (it is 'main')"),
        ("git.nope == 1", "needs git.nope == 1 (git.nope is not known)"),
        ("app.x.y == 1", "needs app.x.y == 1 (app is not known)"),
        ("git.branch < 3", "needs git.branch < 3 (a string and an int have no order)"),
        ("git.branch", "needs git.branch to be true (a string is neither true nor false)"),
        ("has(git.nope)", "needs has(git.nope) (there is none)"),
        ("!has(git.branch)", "needs !has(git.branch) (there is one)"),
        ("size(git.tags) > 1", "needs size(git.tags) > 1 (it is 1)"),
        ("git.branch.startsWith('x')", "needs git.branch.startsWith('x') (it is 'main')"),
        ("!git.branch.contains('m')", "needs !git.branch.contains('m') (it is 'main')"),
        ("matchPath(location.page, '/x')", "needs location.page to match '/x' (it is '/home')"),
        ("!matchPath(location.page, '/*')", "needs location.page not to match '/*' (it is '/home')"),
        (
            "git.branch == location.page",
            "needs git.branch == location.page (git.branch is 'main', location.page is '/home')",
        ),
        (
            "location == git.tags",
            "needs location == git.tags "
            "(location is {'page': '/home', 'components': ['A']}, git.tags is ['v1'])",
        ),
        ("false", "needs false to be true (that never changes)"),
        ("(true || git.nope) == false", "needs (true || git.nope) == false (git.nope is not known)"),
        (
            "(git.commits == 3 || state('hung')) in [false]",
            "needs (git.commits == 3 || state('hung')) in [false] "
            "(git.commits is 3, state hung is unknown: timed out after 500 ms)",
        ),
        ("1 == 2", "needs 1 == 2 (that never changes)"),
        ("long == 'x'", f"needs long == 'x' (it is '{'x' * 59}…)"),
        # Of all parts only those that failed.
        ("state('on') && git.branch == 'x'", "needs git.branch == 'x' (it is 'main')"),
        ("state('off') && state('off')", "needs state off (false: not found)"),
        (
            "state('off') && git.commits > 5",
            "needs state off (false: not found) and git.commits > 5 (it is 3)",
        ),
        ("state('off') || state('off')", "needs state off (false: not found)"),
        (
            "state('off') || git.commits > 5",
            "needs state off (false: not found), or git.commits > 5 (it is 3)",
        ),
        (
            "git.branch == 'a' || git.branch == 'b'",
            "needs git.branch == 'a' or git.branch == 'b' (it is 'main')",
        ),
        (
            "state('off') && (git.branch == 'a' || state('hung') && git.commits == 1)",
            "needs state off (false: not found) and either git.branch == 'a' (it is 'main'), "
            "or state hung (unknown: timed out after 500 ms) and git.commits == 1 (it is 3)",
        ),
        (
            "!(state('on') && git.commits < 4)",
            "needs state on to be false (true: found), or git.commits >= 4 (it is 3)",
        ),
        ("!(state('on') || state('off'))", "needs state on to be false (true: found)"),
        (
            " || ".join(f"size(git) == {number}" for number in range(10, 20)),
            "needs size(git) == 10 or size(git) == 11 or size(git) == 12 or size(git) == 13 (it is 3), "
            "or 6 more ways",
        ),
    ],
)
def test_what_does_not_hold_says_what_it_needs(text: str, reason: str) -> None:
    assert condition(when=text).judge(HERE).reason == reason


def test_what_holds_needs_nothing() -> None:
    held = condition(when="state('on') && git.branch == 'main'")
    assert held.judge(HERE) == StateValue(True, "")
    assert needs(held.root, HERE) == ()


def test_a_location_says_what_it_needs() -> None:
    read_one = condition(location=LocationScope(pages=("/blog", "/posts/**"), components=("Editor",)))
    assert read_one.judge(HERE).reason == (
        "needs one of location.components to match 'Editor' (it is ['A']) "
        "and either location.page to match '/blog' or location.page to match '/posts/**' (it is '/home')"
    )


def test_a_location_that_is_not_known_says_so() -> None:
    judged = condition(location=LocationScope(routes=("/x",))).judge(HERE)
    assert judged == StateValue(None, "needs location.route to match '/x' (location.route is not known)")


def test_states_that_are_asked_for_say_what_they_need() -> None:
    read_one = condition(states=StateScope(all=("on", "off"), any=("off", "hung"), none=("on",)))
    assert read_one.judge(HERE).reason == (
        "needs state off (false: not found) and state on to be false (true: found) "
        "and either state off (false: not found), or state hung (unknown: timed out after 500 ms)"
    )
