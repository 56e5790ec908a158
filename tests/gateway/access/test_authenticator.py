"""How a gateway knows its callers, and what it does while it cannot read the rules."""

import threading
from collections.abc import Awaitable, Callable

import anyio

from remit.configuration.access_model import AccessRule, IdentityProvider
from remit.decision.roles import Role
from remit.errors import StoreError
from remit.gateway.access.access_settings import AccessSettings, with_projects
from remit.gateway.access.authenticator import Authenticator, Refused, describe_callers
from remit.gateway.access.principals import Principal

ISSUER = IdentityProvider("https://login.example.com", ("remit",))


def run(
    work: Callable[[Authenticator], Awaitable[None]],
    settings: Callable[[], AccessSettings],
    clock: Callable[[], float] = anyio.current_time,
) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            await work(Authenticator(tuple, settings, tasks, is_private=True, clock=clock))

    anyio.run(main)


def test_a_gateway_says_how_callers_are_known() -> None:
    rules = with_projects((AccessRule(Role.USER, ("*",), group="devs"),), ())
    assert describe_callers(AccessSettings(), 0) == "everyone on this machine"
    assert describe_callers(AccessSettings(), 1) == "1 token"
    known = describe_callers(AccessSettings(identity=ISSUER, memberships=rules), 2)
    assert known == "2 tokens, access tokens of https://login.example.com (1 access rule)"
    assert describe_callers(AccessSettings(identity=ISSUER), 0).endswith("(0 access rules)")
    assert describe_callers(AccessSettings(is_complete=False), 0).startswith("none accepted")


def test_rules_that_were_never_read_let_nobody_in() -> None:
    def fail() -> AccessSettings:
        raise StoreError("no")

    async def work(authenticator: Authenticator) -> None:
        assert isinstance(await authenticator.identify(None, is_needed=False), Refused)

    run(work, fail)


def test_while_the_store_hangs_requests_are_answered_by_the_last_rules() -> None:
    hangs, is_over, reads, now = threading.Event(), threading.Event(), [0], [0.0]

    def read() -> AccessSettings:
        reads[0] += 1
        if hangs.is_set():
            is_over.wait()
        return AccessSettings()

    async def work(authenticator: Authenticator) -> None:
        assert await authenticator.identify(None, is_needed=False) is None
        hangs.set()
        now[0] += 3
        for _ in range(3):
            found = await authenticator.identify(None, is_needed=False)
            assert not isinstance(found, Refused | Principal)
        assert reads == [2]
        is_over.set()

    run(work, read, lambda: now[0])
