"""Credentials of principals, in a file and in PostgreSQL: who finds which, and what a change does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.decision.declared_launch import Launch, Transport
from remit.errors import CredentialError, StoreUnavailableError
from remit.upstream.principal_credentials.credential_file import FILE, CredentialFile
from remit.upstream.principal_credentials.credential_keys import KeyFile
from remit.upstream.principal_credentials.credential_model import CredentialRows
from remit.upstream.principal_credentials.principal_credentials import PrincipalCredentials
from remit.upstream.upstream_model import Upstream
from support.postgres import Databases, needs_postgres
from support.upstream_pools import upstream


@pytest.fixture(scope="module")
def stored(databases: Databases) -> Iterator[CredentialRows]:
    from remit.store.postgres.upstream_credentials import SqlCredentials  # its driver is not everywhere

    made = SqlCredentials(databases.create())
    yield made
    made.close()


@pytest.fixture(params=["file", pytest.param("postgres", marks=needs_postgres)])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CredentialRows]:
    if request.param == "file":
        yield CredentialFile(str(tmp_path))
        return
    made: CredentialRows = request.getfixturevalue("stored")
    yield made
    for each in made.all():
        made.remove(each.place.principal, None)


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(str(tmp_path / "remit.key"), is_default=True)


@pytest.fixture
def credentials(rows: CredentialRows, keys: KeyFile) -> PrincipalCredentials:
    return PrincipalCredentials(lambda: rows, keys)


def github(project: str | None = None, url: str = "https://github.example/mcp") -> Upstream:
    return upstream(Launch(transport=Transport.HTTP, url=url), "github", project=project)


def found(credentials: PrincipalCredentials, server: Upstream, principal: str) -> str | None:
    credential = credentials.find(server, principal)
    assert "secret" not in repr(credential)
    return None if credential is None else credential.value


def test_each_principal_finds_its_own_credential_alone(credentials: PrincipalCredentials) -> None:
    credentials.set(github(), "alice", "secret-a", 1)
    credentials.set(github(), "bob", "secret-b", 2)
    assert [found(credentials, github(), name) for name in ("alice", "bob", "eve")] == [
        "secret-a",
        "secret-b",
        None,
    ]


def test_a_server_of_a_project_has_credentials_of_its_own(credentials: PrincipalCredentials) -> None:
    credentials.set(github(), "alice", "secret-everywhere", 1)
    credentials.set(github("shop"), "alice", "secret-shop", 1)
    assert found(credentials, github("shop"), "alice") == "secret-shop"
    assert found(credentials, github(), "alice") == "secret-everywhere"
    assert found(credentials, github("blog"), "alice") is None
    credentials.forget("shop")
    assert found(credentials, github("shop"), "alice") is None
    assert found(credentials, github(), "alice") == "secret-everywhere"


def test_another_server_of_the_same_name_gets_nothing(credentials: PrincipalCredentials) -> None:
    credentials.set(github(), "alice", "secret-a", 1)
    with pytest.raises(CredentialError, match="another address"):
        credentials.find(github(url="https://evil.example/mcp"), "alice")


def test_a_change_counts_at_once_wherever_it_is_made(
    credentials: PrincipalCredentials, rows: CredentialRows, keys: KeyFile
) -> None:
    other = PrincipalCredentials(lambda: rows, keys)
    assert found(credentials, github(), "alice") is None
    other.set(github(), "alice", "secret-1", 1)
    assert found(credentials, github(), "alice") == "secret-1"
    other.set(github(), "alice", "secret-2", 2)
    assert found(credentials, github(), "alice") == "secret-2"
    assert other.remove("alice", "github") == 1
    assert found(credentials, github(), "alice") is None
    assert other.remove("alice") == 0


def test_all_credentials_of_a_principal_are_removed_and_no_others(credentials: PrincipalCredentials) -> None:
    credentials.set(github(), "alice", "secret-1", 1)
    credentials.set(github("shop"), "alice", "secret-2", 1)
    credentials.set(github(), "bob", "secret-3", 1)
    assert credentials.remove("alice", "gitlab") == 0
    assert credentials.remove("alice") == 2
    assert [each.place.principal for each in credentials.all()] == ["bob"]


def test_rekey_encrypts_with_the_newest_key_and_keeps_the_values(
    credentials: PrincipalCredentials, keys: KeyFile, tmp_path: Path
) -> None:
    credentials.set(github(), "alice", "secret-a", 1)
    credentials.set(github("shop"), "bob", "secret-b", 2)
    newest = keys.add()
    assert (credentials.rekey(), credentials.rekey()) == (2, 0)
    assert {each.key_id for each in credentials.all()} == {newest}
    file = tmp_path / "remit.key"
    file.write_text(file.read_text().splitlines()[0])
    assert found(credentials, github(), "alice") == "secret-a"
    assert found(credentials, github("shop"), "bob") == "secret-b"


def test_a_credential_that_changed_meanwhile_is_not_taken_back(
    credentials: PrincipalCredentials, rows: CredentialRows
) -> None:
    credentials.set(github(), "alice", "secret-1", 1)
    (before,) = rows.all()
    credentials.set(github(), "alice", "secret-2", 2)
    assert not rows.reseal(before, before._replace(key_id="another"))
    assert found(credentials, github(), "alice") == "secret-2"


def test_closing_closes_the_store_once_opened(credentials: PrincipalCredentials, tmp_path: Path) -> None:
    PrincipalCredentials(lambda: pytest.fail("opened"), KeyFile(None)).close()
    closing = PrincipalCredentials(lambda: CredentialFile(str(tmp_path)), KeyFile(None))
    closing.follow()
    assert closing.find(github(), "alice") is None
    closing.close()
    assert credentials.find(github(), "alice") is None


@pytest.mark.parametrize("content", ["{", "{}", '{"credentials": [{}]}', "[]"])
def test_a_damaged_file_is_an_error_and_never_counts_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(CredentialError, match="cannot be read"):
        CredentialFile(str(tmp_path)).all()
    with pytest.raises(CredentialError, match="cannot be read"):
        CredentialFile(str(tmp_path)).remove("alice", None)


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CredentialError, match="cannot be written"):
        CredentialFile(str(tmp_path / "file")).remove("alice", None)


@needs_postgres
def test_the_database_itself_shows_a_principal_its_own_rows_alone(
    stored: CredentialRows, keys: KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the condition of its query, row-level security alone holds."""
    from remit.store.postgres import postgres_database

    rows = stored
    made = PrincipalCredentials(lambda: rows, keys)
    made.set(github("shop"), "alice", "secret-a", 1)
    made.set(github("blog"), "bob", "secret-b", 1)
    unfiltered = "select principal, server, target, project_hash, key_id, sealed, created_at from credentials"
    query = f"{unfiltered} where %(principal)s <> %(server)s"

    class Unfiltered(type(postgres_database.QUERIES)):
        def __getitem__(self, name: str) -> str:
            return query if name == "find_credential" else super().__getitem__(name)

    monkeypatch.setattr(
        postgres_database,
        "QUERIES",
        Unfiltered(postgres_database.FOLDERS, postgres_database.translate),
    )
    assert rows.find("alice", "github", "blog") is None
    assert rows.find("eve", "github", "shop") is None
    seen = rows.find("alice", "github", "shop")
    assert seen is not None
    assert seen.place.principal == "alice"
    made.remove("alice")
    made.remove("bob")


@needs_postgres
def test_without_the_database_a_known_credential_still_counts_and_an_unknown_one_is_an_error(
    databases: Databases, keys: KeyFile
) -> None:
    from remit.store.postgres.upstream_credentials import SqlCredentials

    address = databases.create()
    made = PrincipalCredentials(lambda: SqlCredentials(address), keys)
    made.follow()
    made.set(github(), "alice", "secret-a", 1)
    assert found(made, github(), "alice") == "secret-a"
    databases.drop(address)
    assert found(made, github(), "alice") == "secret-a"
    with pytest.raises(StoreUnavailableError):
        made.find(github(), "bob")
    made.close()


@needs_postgres
def test_a_change_that_can_no_longer_be_read_leaves_a_known_credential(
    databases: Databases, keys: KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.store.postgres.upstream_credentials import SqlCredentials

    address = databases.create()
    rows = SqlCredentials(address)
    made = PrincipalCredentials(lambda: rows, keys)
    made.set(github(), "alice", "secret-a", 1)
    assert found(made, github(), "alice") == "secret-a"
    monkeypatch.setattr(rows, "revision", lambda: -1)  # the last that was notified before the outage
    databases.drop(address)
    assert found(made, github(), "alice") == "secret-a"
    made.close()
