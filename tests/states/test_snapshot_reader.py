"""What states are while the store cannot be used."""

from pathlib import Path

import pytest

from remit.decision.state_snapshot import StateValue
from remit.errors import StoreUnavailableError
from remit.files.checkout import locate
from remit.states.snapshot_reader import LastKnownStates
from remit.store.open_store import open_store
from support.sandbox import Sandbox

STATES = """
[states.online]
push = true
lifetime = 5
[states.noted]
glob = "*.md"
lifetime = 5
"""


def test_without_the_store_pushed_states_stay_until_they_expire_and_detectors_still_run(
    sandbox: Sandbox,
) -> None:
    shop = sandbox.project("shop")
    sandbox.write(shop / "remit.toml", STATES)
    registry = sandbox.registry()
    here = registry.at(str(shop))
    registry.states.push({"online": True}, here)
    before = registry.states.snapshot(here).states
    assert (before["online"].truth, before["noted"].truth) == (True, False)
    registry.close()
    assert registry.states.snapshot(here).states["online"].truth
    sandbox.write(shop / "a.md", "")
    sandbox.time += 6_000
    after = registry.states.snapshot(here).states
    assert after["online"] == StateValue(None, "the pushed value has expired")
    assert after["noted"].truth


def test_states_that_were_never_read_are_not_made_up(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    registry = sandbox.registry()
    here = registry.at(str(shop))
    registry.close()
    with pytest.raises(StoreUnavailableError):
        registry.states.snapshot(here)
    store = open_store(str(sandbox.database))
    store.close()
    with pytest.raises(StoreUnavailableError):
        LastKnownStates(store.states).known(locate(str(shop)))


def test_without_the_store_each_process_detects_for_itself(sandbox: Sandbox, tmp_path: Path) -> None:
    store = open_store(str(sandbox.database))
    store.close()
    assert LastKnownStates(store.states).claim("x", "mark", locate(str(tmp_path)), 1, 2)
