"""Keys of credentials: what is encrypted, what it is bound to, and which files are taken."""

import os
from pathlib import Path

import pytest

from remit.errors import CredentialError
from remit.upstream.principal_credentials.credential_keys import KeyFile, seal, unseal
from remit.upstream.principal_credentials.credential_model import CredentialPlace, check_value

ALICE = CredentialPlace("alice", "github", "url-digest", "hash-of-shop")


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    made = KeyFile(str(tmp_path / "remit.key"))
    made.add()
    return made


def test_a_credential_is_encrypted_and_can_be_decrypted(keys: KeyFile) -> None:
    sealed = seal("ghp_secret", ALICE, keys.encrypting(), 7)
    assert b"ghp_secret" not in sealed.sealed
    assert "ghp_secret" not in repr(sealed)
    assert unseal(sealed, keys.keys()) == "ghp_secret"
    assert seal("ghp_secret", ALICE, keys.encrypting(), 7).sealed != sealed.sealed


@pytest.mark.parametrize(
    "other",
    [
        ALICE._replace(principal="bob"),
        ALICE._replace(server="gitlab"),
        ALICE._replace(target="another"),
        ALICE._replace(project=None),
    ],
    ids=["principal", "server", "target", "project"],
)
def test_a_row_that_was_moved_cannot_be_decrypted(keys: KeyFile, other: CredentialPlace) -> None:
    sealed = seal("ghp_secret", ALICE, keys.encrypting(), 7)
    with pytest.raises(CredentialError, match="belongs to another place"):
        unseal(sealed._replace(place=other), keys.keys())


def test_a_changed_row_cannot_be_decrypted(keys: KeyFile) -> None:
    sealed = seal("ghp_secret", ALICE, keys.encrypting(), 7)
    for changed in (b"", sealed.sealed[:-1] + bytes([sealed.sealed[-1] ^ 1])):
        with pytest.raises(CredentialError, match="was changed"):
            unseal(sealed._replace(sealed=changed), keys.keys())


def test_an_older_key_still_decrypts_until_its_line_is_deleted(keys: KeyFile, tmp_path: Path) -> None:
    sealed = seal("ghp_secret", ALICE, keys.encrypting(), 7)
    newest = keys.add()
    assert keys.encrypting().id == newest != sealed.key_id
    assert unseal(sealed, keys.keys()) == "ghp_secret"
    file = tmp_path / "remit.key"
    file.write_text(file.read_text().splitlines()[0])
    with pytest.raises(CredentialError, match=f"lacks the key `{sealed.key_id}`"):
        unseal(sealed, keys.keys())


def test_a_default_key_file_is_created_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "credentials.key"
    keys = KeyFile(str(path), is_default=True)
    first = keys.encrypting()
    assert keys.encrypting() == first
    assert os.name != "posix" or path.stat().st_mode & 0o077 == 0
    assert path.read_text().strip() not in repr(first)


@pytest.mark.parametrize(
    ("content", "why"), [("", "is empty"), ("c2hvcnQ=", "not a key file"), ("ü", "not a")]
)
def test_a_file_without_keys_is_refused(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "remit.key"
    path.write_text(content, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(CredentialError, match=why):
        KeyFile(str(path)).keys()


def test_a_missing_key_file_is_not_replaced_by_a_new_key(tmp_path: Path) -> None:
    with pytest.raises(CredentialError, match="no such file"):
        KeyFile(str(tmp_path / "remit.key")).encrypting()
    with pytest.raises(CredentialError, match="no key is configured"):
        KeyFile(None).encrypting()
    with pytest.raises(CredentialError, match="no key is configured"):
        KeyFile(None).add()


@pytest.mark.skipif(os.name != "posix", reason="needs file modes")
def test_a_key_file_that_others_can_read_is_refused(keys: KeyFile, tmp_path: Path) -> None:
    keys.keys()
    (tmp_path / "remit.key").chmod(0o640)
    with pytest.raises(CredentialError, match="others can read"):
        keys.keys()


def test_a_key_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CredentialError, match="cannot write the key file"):
        KeyFile(str(tmp_path / "file" / "remit.key")).add()


@pytest.mark.parametrize("value", ["", "two words", "line\nline", "\x00", "schlüssel", "x" * 20_000])
def test_a_credential_that_cannot_be_sent_is_refused_without_repeating_it(value: str) -> None:
    with pytest.raises(CredentialError) as caught:
        check_value(value)
    assert not value or value not in str(caught.value)
