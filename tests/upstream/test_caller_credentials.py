"""Servers that are used with the credential of their caller: who gets which process, and who gets none."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from remit.decision.declared_launch import Launch, Transport
from remit.errors import NotSignedInError, SignInError, StoreUnavailableError
from remit.upstream import upstream_pool
from remit.upstream.launch.ready_server import NotReadyError, make_ready
from remit.upstream.oauth.sign_in import ready_remote
from remit.upstream.oauth.token_store import FileTokenStore, StoredToken
from remit.upstream.ports import Health, UpstreamStatus, merged_statuses
from remit.upstream.principal_credentials.credential_file import CredentialFile
from remit.upstream.principal_credentials.credential_keys import KeyFile
from remit.upstream.principal_credentials.credential_model import Credential
from remit.upstream.principal_credentials.principal_credentials import PrincipalCredentials
from remit.upstream.transports.remote import RemoteConnector
from remit.upstream.upstream_model import Upstream
from support.upstream_pools import RecordingCaller, open_pool, text_of, tool, two_era_launch, upstream

pytestmark = pytest.mark.anyio

ALICE, BOB = RecordingCaller(principal="alice"), RecordingCaller(principal="bob")
VALUE = "ghp_0123456789abcdef"
HEADERS = "X-Api-Key"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def credentials(tmp_path: Path) -> PrincipalCredentials:
    keys = KeyFile(str(tmp_path / "remit.key"), is_default=True)
    return PrincipalCredentials(lambda: CredentialFile(str(tmp_path)), keys)


def server(era: str = "old") -> Upstream:
    launch = two_era_launch(era, env={"LOGIN": "${credential}"})
    return upstream(launch, is_per_principal=True, inherits=False)


def remote(**others: Any) -> Upstream:
    launch = Launch(transport=Transport.HTTP, url="https://github.example/mcp", **others)
    return upstream(launch, "github", is_per_principal=True)


async def environment(pool: upstream_pool.UpstreamPool, caller: RecordingCaller) -> dict[str, str]:
    answer = await pool.request(server(), "tools/call", tool("environment"), caller)
    return json.loads(text_of(answer))


async def test_each_principal_has_a_process_with_its_own_credential(
    credentials: PrincipalCredentials,
) -> None:
    credentials.set(server(), "alice", "secret-a", 1)
    credentials.set(server(), "bob", "secret-b", 1)
    machine = {"LOGIN": "secret-of-the-machine", "credential": "secret-of-the-machine"}
    async with open_pool(machine, credentials=credentials) as pool:
        envs = [await environment(pool, each) for each in (ALICE, BOB)]
        assert [each["LOGIN"] for each in envs] == ["secret-a", "secret-b"]
        assert all("secret-of-the-machine" not in str(each) for each in envs)
        counted = [
            json.loads(text_of(await pool.request(server(), "tools/call", tool("count"), each)))
            for each in (ALICE, BOB, ALICE)
        ]
        assert [each[0] for each in counted] == [1, 1, 2]
        assert counted[0][1] == counted[2][1] != counted[1][1]
        (status,) = pool.statuses()
        assert (status.sessions, status.calls) == (2, 5)


@pytest.mark.parametrize("era", ["old", "new"])
async def test_without_a_credential_nothing_starts_and_the_caller_learns_why(
    era: str, credentials: PrincipalCredentials
) -> None:
    credentials.set(server(era), "bob", "secret-b", 1)
    async with open_pool(credentials=credentials) as pool:
        with pytest.raises(NotSignedInError) as caught:
            await pool.request(server(era), "tools/call", tool("environment"), ALICE)
        assert str(caught.value) == "`speaking` needs your own credential, and you are not signed in to it"
        assert caught.value.next_step == "ask the user to sign in to `speaking`, then call it again"
        assert caught.value.hint == "run `remit credential set speaking --for alice`"
        for nameless in (RecordingCaller(), None):
            with pytest.raises(NotSignedInError, match="this caller has no name"):
                await pool.list_all(server(era), caller=nameless)
        assert pool.statuses() == []


async def test_a_pool_without_credentials_refuses_everyone() -> None:
    async with open_pool() as pool:
        with pytest.raises(NotSignedInError, match="you are not signed in"):
            await pool.request(server(), "tools/call", tool("environment"), ALICE)


async def test_a_changed_credential_replaces_the_process_and_a_removed_one_ends_it(
    credentials: PrincipalCredentials,
) -> None:
    credentials.set(server(), "alice", "secret-1", 1)
    async with open_pool(credentials=credentials) as pool:
        assert (await environment(pool, ALICE))["LOGIN"] == "secret-1"
        credentials.set(server(), "alice", "secret-2", 2)
        assert (await environment(pool, ALICE))["LOGIN"] == "secret-2"
        credentials.remove("alice")
        with pytest.raises(NotSignedInError):
            await environment(pool, ALICE)
        assert pool.statuses() == []


async def test_the_failures_of_one_principal_do_not_stop_another(credentials: PrincipalCredentials) -> None:
    launch = two_era_launch("old", env={"LOGIN": "${credential}"})
    run = 'test "$LOGIN" = secret-bad && { echo "no $LOGIN" >&2; exit 1; }; exec "$0" "$@"'
    failing = Launch(
        command="/bin/sh", args=("-c", run, launch.command, *launch.args), env=launch.env, syntaxes=()
    )
    shell = upstream(failing, is_per_principal=True, inherits=False)
    credentials.set(shell, "alice", "secret-bad", 1)
    credentials.set(shell, "bob", "secret-good", 1)
    async with open_pool(credentials=credentials) as pool:
        for _ in range(4):
            with pytest.raises(Exception, match="`speaking`") as caught:
                await pool.request(shell, "tools/call", tool("count"), ALICE)
            assert "secret-bad" not in f"{caught.value} {getattr(caught.value, 'output', '')}"
        assert text_of(await pool.request(shell, "tools/call", tool("count"), BOB)).startswith("[1")
        (status,) = pool.statuses()
        assert "secret" not in repr(status)
        assert status.health is Health.UP


async def test_a_credential_that_cannot_be_read_is_explained_to_the_log_alone(
    credentials: PrincipalCredentials, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    credentials.set(server(), "alice", VALUE, 1)
    os.remove(tmp_path / "remit.key")
    async with open_pool(credentials=credentials) as pool:
        with caplog.at_level(logging.WARNING), pytest.raises(NotSignedInError) as caught:
            await environment(pool, ALICE)
    assert str(caught.value) == "`speaking` cannot be used now: your credential for it cannot be read"
    assert "remit.key" in caplog.text
    assert VALUE not in caplog.text


async def test_without_the_store_a_credential_is_not_guessed(tmp_path: Path) -> None:
    def fail() -> CredentialFile:
        raise StoreUnavailableError("`postgresql://db/remit` cannot be used")

    made = PrincipalCredentials(fail, KeyFile(str(tmp_path / "remit.key")))
    async with open_pool(credentials=made) as pool:
        with pytest.raises(NotSignedInError, match="cannot be read") as caught:
            await environment(pool, ALICE)
    assert "postgresql" not in str(caught.value)


async def test_principals_that_left_make_room(
    credentials: PrincipalCredentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_pool, "MAX_SUPERVISORS", 1)
    credentials.set(server(), "alice", "secret-a", 1)
    credentials.set(server(), "bob", "secret-b", 1)
    async with open_pool(credentials=credentials) as pool:
        await environment(pool, ALICE)
        await pool.leave(ALICE.session)
        await environment(pool, BOB)
        (status,) = pool.statuses()
        assert status.calls == 1


def ready(made: Upstream, credential: str | None = VALUE) -> dict[str, str]:
    given = None if credential is None else Credential(value=credential)
    found = make_ready(made, {"OTHER": "x"}, "/", (), given)
    assert given is None or VALUE in found.secrets()
    return dict(found.launch.headers)


def test_a_remote_server_gets_the_credential_as_a_bearer_token_in_place_of_its_own() -> None:
    assert ready(remote()) == {"Authorization": f"Bearer {VALUE}"}
    assert ready(remote(headers={"authorization": "Bearer machine", "X-A": "1"})) == {
        "X-A": "1",
        "Authorization": f"Bearer {VALUE}",
    }


def test_the_entry_can_name_another_header() -> None:
    assert ready(remote(headers={HEADERS: "key ${credential}"})) == {HEADERS: f"key {VALUE}"}


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (remote(headers_helper="print-headers"), "the same credential for everyone"),
        (upstream(two_era_launch("old", "${credential}"), is_per_principal=True), "others can read"),
        (upstream(two_era_launch("old"), is_per_principal=True), "does not say where"),
    ],
    ids=["helper", "arguments", "nowhere"],
)
def test_an_entry_that_would_share_or_expose_a_credential_is_not_started(made: Upstream, why: str) -> None:
    with pytest.raises(NotReadyError, match=why):
        ready(made)


def test_nothing_else_that_opens_servers_can_open_it_without_a_credential() -> None:
    with pytest.raises(NotReadyError, match="used with the credential of its caller"):
        ready(remote(), None)
    with pytest.raises(SignInError, match="used with the credential of each caller"):
        ready_remote(remote(), {}, "/")


async def test_the_tokens_of_the_machine_are_never_sent_for_a_principal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = FileTokenStore(str(tmp_path))
    url = "https://github.example/mcp"
    tokens.save(url, StoredToken(token_endpoint="https://x.example", access_token="machine"))  # noqa: S106
    opened: list[tuple[object, object]] = []

    class StopError(Exception):
        pass

    def record(headers: object, auth: object) -> None:
        opened.append((headers, auth))
        raise StopError

    monkeypatch.setattr("remit.upstream.transports.remote.open_http_client", record)
    made = remote(headers={HEADERS: "${credential}"})
    with pytest.raises(StopError):
        async with RemoteConnector(tokens).open_transport(
            make_ready(made, {}, "/", (), Credential(value=VALUE))
        ):
            pass
    assert opened == [({HEADERS: VALUE}, None)]


def status(health: Health, **others: Any) -> UpstreamStatus:
    return UpstreamStatus(("key",), "github", health, **others)


def test_the_statuses_of_principals_are_one() -> None:
    (made,) = merged_statuses(
        [
            status(Health.BROKEN, sessions=0, calls=3, errors=3, restarts=1),
            status(Health.UP, sessions=1, calls=2, p50_ms=1.0, p95_ms=4.0),
            status(Health.IDLE, sessions=0, calls=1, p50_ms=2.0, p95_ms=3.0),
        ]
    )
    assert (made.health, made.sessions, made.calls, made.errors) == (Health.UP, 1, 6, 3)
    assert (made.p50_ms, made.p95_ms, made.restarts) == (2.0, 4.0, 1)
