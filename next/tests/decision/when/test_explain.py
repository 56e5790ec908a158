import pytest

from remit.decision import Snapshot, StateValue
from remit.decision.when import Condition, LocationScope, StateScope

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
        ('!(git.branch == "main")', "needs git.branch != \"main\" (it is 'main')"),
        ("git.commits   >\n 5", "needs git.commits > 5 (it is 3)"),
        ("!(git.commits < 5)", "needs git.commits >= 5 (it is 3)"),
        ("!(git.branch in ['main'])", "needs git.branch not in ['main'] (it is 'main')"),
        ("git['nope'] == 1", "needs git['nope'] == 1 (git.nope is not known)"),
        ("app['x-y'].z == 1", "needs app['x-y'].z == 1 (app is not known)"),
        ("git.branch < 3", "needs git.branch < 3 (a string and an int have no order)"),
        ("git.branch", "needs git.branch to be true (a string is neither true nor false)"),
        ("has(git.nope)", "needs has(git.nope) (there is none)"),
        ("!has(git.branch)", "needs !has(git.branch) (there is one)"),
        ("size(git.tags) > 1", "needs size(git.tags) > 1 (it is 1)"),
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
        ("long == 'x'", f"needs long == 'x' (it is '{'x' * 59}…)"),
        ("state('on') && git.branch == 'x'", "needs git.branch == 'x' (it is 'main')"),
        ("state('off') && state('off')", "needs state off (false: not found)"),
        (
            "state('off') && git.commits > 5",
            "needs state off (false: not found) and git.commits > 5 (it is 3)",
        ),
        (
            "state('off') || git.commits > 5",
            "needs state off (false: not found), or git.commits > 5 (it is 3)",
        ),
        (
            "(git.branch == 'a' || state('hung') && git.commits == 1) && state('off')",
            "needs state off (false: not found) and either git.branch == 'a' (it is 'main'), "
            "or state hung (unknown: timed out after 500 ms) and git.commits == 1 (it is 3)",
        ),
        (
            "!(state('on') && git.commits < 4)",
            "needs state on to be false (true: found), or git.commits >= 4 (it is 3)",
        ),
        ("!(state('on') || state('off'))", "needs state on to be false (true: found)"),
        (
            " || ".join(f"git.commits == {number}" for number in range(10, 20)),
            f"needs {', or '.join(f'git.commits == {number} (it is 3)' for number in range(10, 14))}"
            ", or 6 more ways",
        ),
    ],
)
def test_what_does_not_hold_says_what_it_needs(text: str, reason: str) -> None:
    assert Condition(when=text).judge(HERE).reason == reason


def test_what_holds_needs_nothing() -> None:
    assert Condition(when="state('on') && git.branch == 'main'").judge(HERE) == StateValue(True, "")


def test_a_location_says_what_it_needs() -> None:
    condition = Condition(location=LocationScope(pages=("/blog", "/posts/*"), components=("Editor",)))
    assert condition.judge(HERE).reason == (
        "needs one of location.components to match 'Editor' (it is ['A']) and either "
        "location.page to match '/blog' (it is '/home'), or location.page to match '/posts/*' (it is '/home')"
    )
    unknown = Condition(location=LocationScope(routes=("/x",)))
    assert unknown.judge(HERE) == StateValue(
        None, "needs location.route to match '/x' (location.route is not known)"
    )


@pytest.mark.parametrize(
    ("condition", "summary"),
    [
        (Condition(StateScope(all=("on", "git-initialized"))), "state `git-initialized` does not hold"),
        (Condition(when="!state('on')"), "state `on` holds"),
        (Condition(when="state('hung')"), "state `hung` is unknown"),
        (
            Condition(when="state('off') || state('hung')"),
            "state `off` does not hold or state `hung` is unknown",
        ),
        (
            Condition(when="state('off') && git.branch == 'x' && git.commits == 1"),
            "state `off` does not hold and its condition does not hold",
        ),
    ],
)
def test_a_model_reads_which_states_are_missing_and_not_what_they_depend_on(
    condition: Condition, summary: str
) -> None:
    assert condition.summary(HERE) == summary
