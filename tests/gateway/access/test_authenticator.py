"""How a gateway knows its callers, and what it does while it cannot read the rules."""

import threading
from collections.abc import Awaitable, Callable

import anyio
import pytest

from remit.configuration.config_model import AccessRule, IdentityProvider, Role
from remit.errors import StoreError
from remit.gateway.access.access_settings import AccessSettings, with_projects
from remit.gateway.access.authenticator import Authenticator, Refused, describe_callers
from remit.gateway.access.principals import Principal
from remit.gateway.access.token_grants import Grant, digest

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


@pytest.mark.long
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


class ChangingTokens:
    """One token, which is revoked elsewhere; the first read after that begins too early to notice."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.known = [Grant(name="ci", digest=digest("token_of_ci"))]
        self.is_revoked, self.reads, self.hangs = False, 0, hangs
        self.has_begun, self.goes_on = threading.Event(), threading.Event()

    def newer(self) -> Callable[[], object] | None:
        return self._read if self.is_revoked and self.known else None

    def _read(self) -> None:
        self.reads += 1
        self.has_begun.set()
        if self.hangs:
            self.goes_on.wait()
        elif self.reads > 1:
            self.known = []


def identify_by(tokens: ChangingTokens, work: Callable[[Authenticator], Awaitable[None]]) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            await work(
                Authenticator(
                    lambda: tokens.known, AccessSettings, tasks, is_private=True, newer=tokens.newer
                )
            )

    anyio.run(main)


def test_the_first_request_after_a_revocation_is_refused() -> None:
    tokens = ChangingTokens()

    async def work(authenticator: Authenticator) -> None:
        assert isinstance(await authenticator.identify("Bearer token_of_ci", is_needed=True), Principal)
        assert tokens.reads == 0
        tokens.is_revoked = True
        assert isinstance(await authenticator.identify("Bearer token_of_ci", is_needed=True), Refused)
        refused = await authenticator.identify("Bearer token_of_ci", is_needed=True)
        assert isinstance(refused, Refused)
        assert "unknown or was revoked" in refused.words
        assert tokens.reads == 2

    identify_by(tokens, work)


def test_while_the_database_hangs_requests_wait_for_the_tokens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.gateway.access.authenticator.PATIENCE", 0.01)
    tokens = ChangingTokens(hangs=True)

    async def work(authenticator: Authenticator) -> None:
        tokens.is_revoked = True
        for _ in range(3):
            assert isinstance(await authenticator.identify("Bearer token_of_ci", is_needed=True), Principal)
        tokens.has_begun.wait()
        assert tokens.reads == 1
        tokens.goes_on.set()

    identify_by(tokens, work)
