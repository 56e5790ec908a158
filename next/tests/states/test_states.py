"""States of a workspace, as its files declare them: read, implied, set, pushed, advanced."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from remit.config import Configurations
from remit.decision import Context, Workspace, identify
from remit.errors import NotFoundError, StateError
from remit.files import Machine
from remit.states import States
from remit.store import Store, open_store

MINUTE = 60_000


class Shop(NamedTuple):
    root: Path
    store: Store
    states: States
    context: Context
    clock: list[int]

    def values(self, *names: str) -> dict[str, bool | None]:
        snapshot = self.states.snapshot(self.context, names or None)
        return {name: snapshot.state(name).truth for name in names or snapshot.states}

    def wait(self, milliseconds: int) -> None:
        self.clock[0] += milliseconds


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    home = tmp_path / "home"
    home.mkdir()
    clock = [1_700_000_000_000]
    machine = Machine(home=str(home), variables={"REMIT_HOME": str(tmp_path / "data")})
    with open_store(str(tmp_path / "data" / "remit.sqlite")) as store:
        path = str(root)
        context = Context(Workspace(path, path, identify(path)), "claude-code", home=str(home))
        configurations = Configurations(store, machine, lambda: clock[0])
        yield Shop(
            root, store, States(store.states, configurations, machine, lambda: clock[0]), context, clock
        )


def declare(shop: Shop, text: str) -> None:
    (shop.root / "remit.toml").write_text(text)
    shop.wait(MINUTE)


LOADED = '[states.loaded]\nfile = "shop.yaml"\n'


def test_a_state_follows_its_file(shop: Shop) -> None:
    declare(shop, LOADED)
    assert shop.values("loaded") == {"loaded": False}
    (shop.root / "shop.yaml").touch()
    assert shop.values("loaded", "git-initialized") == {"loaded": True, "git-initialized": True}


def test_only_the_states_that_are_asked_for_are_detected_with_those_that_imply_them(shop: Shop) -> None:
    declare(
        shop,
        '[states."a.b"]\nkind = "workflow"\n[states.c]\nkind = "workflow"\nimplies = ["a"]\n' + LOADED,
    )
    shop.states.set("c", shop.context)
    assert shop.values("a") == {"a": True}
    assert set(shop.states.snapshot(shop.context, ["a"]).states) == {"a", "a.b", "c"}


def test_a_dotted_state_implies_its_ancestors_and_clearing_one_clears_what_implies_it(shop: Shop) -> None:
    declare(shop, '[states."doc.edit"]\nkind = "workflow"\n[states."doc.edit.draft"]\nkind = "workflow"\n')
    shop.states.set("doc.edit.draft", shop.context)
    assert shop.values("doc", "doc.edit") == {"doc": True, "doc.edit": True}
    assert shop.states.clear("doc.edit", shop.context) == ["doc.edit", "doc.edit.draft"]
    assert shop.values("doc") == {"doc": False}


def test_a_state_that_may_be_implied_by_an_unknown_one_is_unknown(shop: Shop) -> None:
    declare(shop, "[states.app]\npush = true\nimplies = ['base']\n[states.base]\nkind = 'workflow'\n")
    assert shop.values("app", "base") == {"app": None, "base": None}


def test_the_success_of_a_tool_sets_and_clears_states(shop: Shop) -> None:
    declare(shop, '[states.editing]\nkind = "workflow"\non = "mcp__doc__open"\noff = "mcp__doc__close"\n')
    assert shop.states.advance("mcp__doc__open", shop.context)
    assert shop.states.snapshot(shop.context).state("editing").reason == "set by mcp__doc__open"
    assert shop.states.advance("mcp__doc__close", shop.context)
    assert not shop.states.advance("mcp__doc__other", shop.context)
    assert shop.values("editing") == {"editing": False}


def test_a_pushed_value_expires_and_can_be_withdrawn(shop: Shop) -> None:
    declare(shop, "[states.app]\npush = true\n")
    shop.states.push({"app": True, "location": {"page": "cart"}}, shop.context)
    snapshot = shop.states.snapshot(shop.context)
    assert (snapshot.state("app").truth, snapshot.values["location"]) == (True, {"page": "cart"})
    shop.wait(2 * MINUTE)
    assert shop.values("app") == {"app": None}
    assert shop.states.snapshot(shop.context).values["location"] == {}
    shop.states.push({"app": False}, shop.context)
    shop.states.push({"app": None}, shop.context)
    assert shop.states.snapshot(shop.context).state("app").reason == "nothing was pushed"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"ap": True}, "no state is called `ap` here"),
        ({"app": 1}, "`app` must be true or false"),
        ({"loaded": True}, "`loaded` is not pushed: it is found by `file`"),
        ({"location": {"pag": "x"}}, "a location has no `pag`"),
        ({"location": {"depth": "x"}}, "`depth` of a location has the wrong type"),
    ],
)
def test_what_cannot_be_pushed_is_refused_by_name(
    shop: Shop, values: dict[str, object], message: str
) -> None:
    declare(shop, "[states.app]\npush = true\n" + LOADED)
    with pytest.raises((NotFoundError, StateError), match=message):
        shop.states.push(values, shop.context)


def test_only_a_workflow_state_is_set_by_hand(shop: Shop) -> None:
    declare(shop, LOADED)
    with pytest.raises(StateError, match="`loaded` is not set and cleared by hand: it is found by `file`"):
        shop.states.set("loaded", shop.context)
    with pytest.raises(NotFoundError) as error:
        shop.states.set("laoded", shop.context)
    assert error.value.hint == "did you mean `loaded`?"


def test_a_projects_command_waits_for_trust_and_runs_nothing(shop: Shop) -> None:
    declare(shop, '[states.ok]\ncommand = ["touch", "ran"]\n')
    value = shop.states.snapshot(shop.context).state("ok")
    assert (value.truth, value.reason) == (None, "waits for your trust: `remit trust ok` shows it")
    assert not (shop.root / "ran").exists()


def observed(shop: Shop) -> bool | None:
    return shop.states.snapshot(shop.context).state("docs").truth


DOCS = '[states.docs]\nglob = "docs/*.md"\nlifetime = 10\n'


def test_a_result_counts_for_its_lifetime_and_one_from_the_future_does_not(shop: Shop) -> None:
    declare(shop, DOCS)
    assert observed(shop) is False
    (shop.root / "docs").mkdir()
    (shop.root / "docs" / "a.md").touch()
    assert observed(shop) is False
    shop.wait(11_000)
    assert observed(shop) is True
    (shop.root / "docs" / "a.md").unlink()
    shop.wait(-MINUTE)  # the clock was set back
    assert observed(shop) is False


def test_while_another_process_detects_a_state_its_last_result_serves_ten_lifetimes(shop: Shop) -> None:
    declare(shop, DOCS)
    assert observed(shop) is False
    mark = shop.store.states.known(shop.context.workspace).observed["docs"].mark
    for seconds, truth in ((50, False), (200, None)):
        shop.wait(seconds * 1000)
        now = shop.clock[0]
        assert shop.store.states.claim("docs", mark, shop.context.workspace, now, now + MINUTE)
        assert observed(shop) is truth


def test_a_state_that_cannot_be_detected_has_the_value_that_else_gives_it(shop: Shop) -> None:
    declare(shop, "")
    (Path(shop.context.home) / ".config" / "remit").mkdir(parents=True)
    (Path(shop.context.home) / ".config" / "remit" / "remit.toml").write_text(
        '[states.online]\nhttp = "http://127.0.0.1:9/"\nelse = false\n'
    )
    shop.wait(MINUTE)
    value = shop.states.snapshot(shop.context).state("online")
    assert value.truth is False
    assert value.reason.endswith("which counts as false")


def test_reports_name_the_state_its_value_and_its_file(shop: Shop) -> None:
    declare(shop, LOADED + '[states."a.b"]\nkind = "workflow"\n')
    reports = {report.name: report for report in shop.states.reports(shop.context)}
    loaded = reports["loaded"].state
    assert loaded is not None
    assert loaded.origin.path == str(shop.root / "remit.toml")
    assert reports["a"].state is None
    assert str(shop.root / "shop.yaml") in shop.states.paths(shop.context)
