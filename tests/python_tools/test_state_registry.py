"""States and tools that are declared in Python."""

import asyncio
import threading
from pathlib import Path
from typing import cast

import pytest

from remit.decision.requirements import LocationScope
from remit.decision.state_snapshot import StateValue
from remit.errors import ConditionError, StateError
from remit.python_tools.state_registry import DetectedState, StateAwareRegistry


def supernal(root: Path) -> StateAwareRegistry[str]:
    registry: StateAwareRegistry[str] = StateAwareRegistry(
        states={
            "project-loaded": DetectedState(
                lambda: (root / "supernal.yaml").exists(), description="A supernal project is loaded"
            ),
            "git-initialized": DetectedState(lambda: (root / ".git").exists()),
            "ci-configured": lambda: (root / ".gitlab-ci.yml").exists(),
        }
    )
    registry.register("requirement.list", required_states=["project-loaded"], namespace="requirement")
    registry.register(
        "requirement.create", required_states=["project-loaded", "git-initialized"], namespace="requirement"
    )
    registry.register("help")
    return registry


def test_tools_are_there_in_the_states_that_they_need(tmp_path: Path) -> None:
    registry = supernal(tmp_path)
    assert registry.detect_current_states() == []
    assert registry.tools_for_states([]) == ["help"]
    (tmp_path / "supernal.yaml").touch()
    states = registry.detect_current_states()
    assert states == ["project-loaded"]
    assert registry.tools_for_states(states) == ["requirement.list", "help"]
    (tmp_path / ".git").mkdir()
    tools = registry.tools_for(registry.snapshot())
    assert tools == ["requirement.list", "requirement.create", "help"]
    assert registry.by_namespace(tools) == {
        "requirement": ["requirement.list", "requirement.create"],
        None: ["help"],
    }


def test_a_detector_may_be_async() -> None:
    async def is_online() -> bool:
        await asyncio.sleep(0)
        return True

    registry: StateAwareRegistry[str] = StateAwareRegistry({"online": is_online})
    assert registry.detect_current_states() == ["online"]


def test_a_detector_that_fails_or_cannot_tell_leaves_its_state_unknown() -> None:
    def broken() -> bool:
        raise ValueError("hunter2")

    def odd() -> bool:
        return cast(bool, "yes")

    registry: StateAwareRegistry[str] = StateAwareRegistry(
        {"broken": broken, "open": lambda: None, "odd": odd}
    )
    registry.register("x", required_states=["broken"])
    registry.register("y", when="!state('open')")
    snapshot = registry.snapshot()
    assert dict(snapshot.states) == {
        "broken": StateValue(None, "its detector failed: ValueError"),
        "open": StateValue(None, "its detector cannot tell"),
        "odd": StateValue(None, "its detector said neither true nor false"),
    }
    assert registry.tools_for(snapshot) == []


def test_a_detector_that_hangs_is_left_at_the_time_limit_and_not_asked_twice() -> None:
    asked: list[int] = []
    may_end = threading.Event()

    def hangs() -> bool:
        asked.append(1)
        return may_end.wait()

    registry: StateAwareRegistry[str] = StateAwareRegistry(
        {"slow": hangs, "quick": lambda: True}, timeout=0.05
    )
    for _ in range(2):
        snapshot = registry.snapshot()
        assert snapshot.state("slow") == StateValue(None, "its detector did not answer within 0.05 s")
        assert snapshot.state("quick").truth
    may_end.set()
    assert asked == [1]


def test_states_imply_others_by_name_and_by_declaration() -> None:
    registry: StateAwareRegistry[str] = StateAwareRegistry(
        {"project.editing": DetectedState(lambda: True, implies=["busy"])}
    )
    registry.register("save", required_states=["project", "busy"])
    assert set(registry.detect_current_states()) == {"project.editing", "project", "busy"}
    assert registry.tools_for_states(["project.editing"]) == ["save"]
    with pytest.raises(StateError, match="in a circle"):
        StateAwareRegistry[str](
            {"a": DetectedState(lambda: True, implies=["b"]), "b": DetectedState(lambda: True, implies=["a"])}
        )
    with pytest.raises(StateError, match="no state is called `x`"):
        registry.tools_for_states(["x"])


def test_a_tool_may_belong_to_a_place() -> None:
    registry: StateAwareRegistry[str] = StateAwareRegistry({})
    registry.register("publishPost", location=LocationScope(pages=("/blog", "/posts/**")))
    assert registry.tools_for_states([], location={"page": "/posts/1"}) == ["publishPost"]
    assert registry.tools_for(registry.snapshot({"page": "/users"})) == []


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ("state('project-loadd')", "unknown state `project-loadd`"),
        ("state('ci-configured') && !state('ci-configured')", "it can never be available"),
    ],
)
def test_a_tool_that_asks_for_what_nobody_declares_is_an_error(
    tmp_path: Path, when: str, message: str
) -> None:
    with pytest.raises(ConditionError, match=message):
        supernal(tmp_path).register("x", when=when)
