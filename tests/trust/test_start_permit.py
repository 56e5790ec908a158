import copy
import pickle
from collections.abc import Mapping
from dataclasses import replace

import pytest

from remit.decision.declarations import Declaration, Key, Resolved
from remit.decision.declared_launch import Launch, Transport
from remit.decision.kinds import ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.trust.server_sandbox import ServerSandboxes
from remit.trust.start_permit import StartPermit, permit_start
from support.builders import SHOP, declared

RUN = Launch(command="run")


def entry(scope: Scope = Scope.PROJECT, launch: Launch | None = RUN) -> Declaration:
    return replace(declared("till", scope), launch=launch, digest=None if launch is None else launch.digest)


def permitted(
    declaration: Declaration,
    trusts: Mapping[Key, str] | None = None,
    status: ConfigStatus = ConfigStatus.ENABLED,
) -> StartPermit | None:
    item = Resolved(declaration=declaration, config_status=status)
    return permit_start(
        item,
        SHOP,
        home="/home/ada",
        trusts=trusts or {},
        sandboxes=ServerSandboxes([], {}, SHOP, "/home/ada"),
        foreign={"claude-code": frozenset({"NOTES_FILE"})}.__getitem__,
    )


def test_a_projects_server_needs_trust_in_this_very_entry() -> None:
    found = entry()
    assert permitted(found) is None
    made = permitted(found, {found.key: RUN.digest})
    assert made is not None
    assert made.is_projects
    assert made.foreign == {"NOTES_FILE"}
    assert permitted(found, {entry(Scope.LOCAL).key: RUN.digest}) is None


@pytest.mark.parametrize(
    "changed",
    [
        replace(RUN, command="other"),
        replace(RUN, args=("--evil",)),
        replace(RUN, env={"PATH": "."}),
        replace(RUN, cwd="sub"),
        replace(RUN, variables={"CLAUDE_PLUGIN_ROOT": "/x"}),
        replace(RUN, transport=Transport.HTTP, url="https://x/"),
    ],
)
def test_trust_in_one_entry_permits_no_other(changed: Launch) -> None:
    # The stored digest is the trusted one, as if a row had been tampered with: only the launch counts.
    forged = replace(entry(), launch=changed, digest=RUN.digest)
    assert permitted(forged, {forged.key: RUN.digest}) is None


def test_the_users_own_server_needs_no_trust() -> None:
    made = permitted(entry(Scope.GLOBAL))
    assert made is not None
    assert made.launch == RUN
    assert not made.is_projects


@pytest.mark.parametrize("status", [each for each in ConfigStatus if each is not ConfigStatus.ENABLED])
def test_only_an_enabled_server_is_permitted(status: ConfigStatus) -> None:
    assert permitted(entry(Scope.GLOBAL), status=status) is None


def test_a_server_in_an_agents_definition_needs_trust_like_any_other() -> None:
    assert permitted(replace(entry(Scope.GLOBAL), agent="reviewer")) is not None
    assert permitted(replace(entry(Scope.PROJECT), agent="reviewer")) is None


def test_what_remit_never_starts_is_not_permitted() -> None:
    own = entry(Scope.GLOBAL)
    assert permitted(replace(own, is_remit=True)) is None
    assert permitted(replace(own, launch=None)) is None
    assert permitted(replace(own, server=None)) is None
    assert permitted(replace(own, kind=Kind.SKILL)) is None


@pytest.mark.parametrize("scope", [Scope.LOCAL, Scope.DYNAMIC])
def test_what_belongs_to_the_workspace_starts_there(scope: Scope) -> None:
    made = permitted(entry(scope))
    assert made is not None
    assert made.directory == "/code/shop"


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.MANAGED, Scope.PLUGIN])
def test_what_is_the_users_everywhere_starts_at_home(scope: Scope) -> None:
    made = permitted(entry(scope))
    assert made is not None
    assert made.directory == "/home/ada"


def test_a_plugin_that_only_the_project_switched_on_starts_in_the_workspace() -> None:
    found = replace(entry(Scope.PLUGIN), project_hash=SHOP.project.hash)
    made = permitted(found, {found.key: RUN.digest})
    assert made is not None
    assert made.directory == "/code/shop"


def test_nobody_else_makes_a_permit() -> None:
    with pytest.raises(TypeError, match="only `permit_start`"):
        StartPermit(RUN, "/", object(), sandbox=None)


def test_a_permit_cannot_be_changed_stored_or_copied_with_changes() -> None:
    env = {"A": "1"}
    made = permitted(entry(Scope.GLOBAL, replace(RUN, env=env)))
    assert made is not None
    env["LD_PRELOAD"] = "/evil.so"  # of the object that the file's reader made
    assert dict(made.launch.env) == {"A": "1"}
    with pytest.raises(TypeError):
        made.launch.env["A"] = "2"  # pyright: ignore[reportIndexIssue] - the attempt is the point
    with pytest.raises(AttributeError):
        made.launch = Launch(command="evil")  # pyright: ignore[reportAttributeAccessIssue] - the same
    with pytest.raises(TypeError):
        pickle.dumps(made)
    with pytest.raises(TypeError):
        copy.copy(made)


def test_permits_are_equal_if_they_start_the_same_and_show_nothing() -> None:
    one, other = permitted(entry(Scope.GLOBAL)), permitted(entry(Scope.MANAGED))
    assert one == other
    assert hash(one) == hash(other)
    assert one != permitted(entry(Scope.LOCAL))
    assert one != "StartPermit()"
    assert repr(one) == "StartPermit()"
