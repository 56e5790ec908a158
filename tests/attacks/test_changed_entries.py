"""A repository changes an entry that the user trusted: whatever steers code asks again."""

from collections.abc import Mapping

import pytest

from attacks.worlds import World

HARMLESS = "9f86d081884c7d659a2f"


def trusted(world: World, entry: Mapping[str, object]) -> bool:
    world.bring({"git": entry})
    return "git (project, .mcp.json): trusted" in world.remit("trust")


def entry(**more: object) -> dict[str, object]:
    return {"command": "git-mcp", **more}


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"GIT_CONFIG_KEY_0": "include.path"}, {"GIT_CONFIG_KEY_0": "core.fsmonitor"}),
        ({"PERL5DB": "9f86d081884c7d659a2f"}, {"PERL5DB": "60303ae22b998861bce3"}),
        ({"DENO_AUTH": HARMLESS}, {"DENO_AUTH": "60303ae22b998861bce3"}),
        ({"API_KEY": HARMLESS}, {"API_KEY": "./evil.sh"}),
        ({"API_KEY": HARMLESS}, {"API_KEY": "https://evil.test/60303ae22b998861bce3"}),
        ({"SIGNING_KEY": HARMLESS}, {"SIGNING_KEY": "$(evil)"}),
    ],
)
def test_trust_does_not_survive_a_value_that_could_steer_code(
    world: World, before: dict[str, str], after: dict[str, str]
) -> None:
    world.declare({}, approved=["git"])
    world.bring({"git": entry(env=before)})
    world.remit("trust", "git", "--yes")
    assert trusted(world, entry(env=before))
    assert not trusted(world, entry(env=after))


def test_trust_does_not_survive_variables_of_a_command_that_prints_headers(world: World) -> None:
    remote = {"type": "http", "url": "http://127.0.0.1:9/mcp", "headersHelper": "make-headers"}
    world.declare({}, approved=["git"])
    world.bring({"git": remote})
    world.remit("trust", "git", "--yes")
    assert trusted(world, remote)
    assert not trusted(world, {**remote, "headersHelper": "make-headers; evil"})


def test_trust_survives_a_rotated_credential(world: World) -> None:
    world.declare({}, approved=["git"])
    world.bring({"git": entry(env={"GITHUB_TOKEN": HARMLESS})})
    world.remit("trust", "git", "--yes")
    assert trusted(world, entry(env={"GITHUB_TOKEN": "60303ae22b998861bce3"}))
