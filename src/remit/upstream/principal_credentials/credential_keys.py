"""Encrypts credentials with AES-256-GCM, by keys in a file that only its user can read.

Each line of the file is a key. The first one encrypts; the others can still decrypt, so keys can be rotated
while several nodes run.
"""

import binascii
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from remit.errors import CredentialError
from remit.files import private_files
from remit.files.file_lock import file_lock
from remit.upstream.principal_credentials.credential_model import CredentialPlace, SealedCredential

_BYTES, _NONCE = 32, 12
_MAX_FILE = 65_536
_VERSION = "remit credential 1"
_HINT = "`remit credential new-key` creates one"


class EncryptionKey(NamedTuple):
    """A key, with the name that stored credentials refer to it by."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"EncryptionKey({self.id})"


class KeyFile:
    """The keys in a file; read again whenever it changes."""

    def __init__(self, path: str | None, *, is_default: bool = False) -> None:
        self._path = path
        self._is_default = is_default  # so it is created on first use
        self._read: tuple[object, Sequence[EncryptionKey]] = (None, ())

    def keys(self) -> Sequence[EncryptionKey]:
        """Return the keys, the one that encrypts first.

        Raises:
            CredentialError: no file is configured, it cannot be read, or others can read it.
        """
        if self._path is None:
            raise CredentialError(
                "no key is configured to encrypt credentials",
                hint=f"set `store_key_file` in your configuration; {_HINT}",
            )
        try:
            with open(self._path, encoding="ascii") as opened:
                found = os.fstat(opened.fileno())
                mark = (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
                if mark != self._read[0]:
                    if os.name == "posix" and found.st_mode & 0o077:
                        raise CredentialError(
                            f"others can read the key file `{self._path}`",
                            hint=f"run `chmod 600 {self._path}`",
                        )
                    self._read = mark, [_key(line) for line in opened.read(_MAX_FILE).split()]
        except (OSError, ValueError, binascii.Error) as error:
            why = (error.strerror or "").lower() if isinstance(error, OSError) else "it is not a key file"
            raise CredentialError(f"cannot read the key file `{self._path}`: {why}", hint=_HINT) from None
        if not self._read[1]:
            raise CredentialError(f"the key file `{self._path}` is empty", hint=_HINT)
        return self._read[1]

    def encrypting(self) -> EncryptionKey:
        """Return the key that encrypts; create the default file on first use.

        Raises:
            CredentialError: no file is configured, or it cannot be used.
        """
        if self._is_default and not os.path.exists(self._path or ""):
            self.add()
        return self.keys()[0]

    def add(self) -> str:
        """Put a new key on top of the file, which may not exist yet; return its ID.

        Raises:
            CredentialError: no file is configured, or it cannot be read or written.
        """
        if self._path is None:
            self.keys()
        path = self._path or ""
        made = os.urandom(_BYTES)
        try:
            with file_lock(path):
                before = self.keys() if os.path.exists(path) else ()
                lines = [b64encode(secret).decode() for secret in (made, *(each.secret for each in before))]
                private_files.write(path, "".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise CredentialError(f"cannot write the key file `{path}`: {error.strerror}") from None
        return _key_id(made)


def seal(value: str, place: CredentialPlace, key: EncryptionKey, at: int) -> SealedCredential:
    """Encrypt a credential, bound to its place."""
    nonce = os.urandom(_NONCE)
    text = AESGCM(key.secret).encrypt(nonce, value.encode(), _bound(place, key.id))
    return SealedCredential(place, key.id, nonce + text, at)


def unseal(credential: SealedCredential, keys: Sequence[EncryptionKey]) -> str:
    """Decrypt a credential.

    Raises:
        CredentialError: its key is not in the file, or it was changed or moved in the store.
    """
    key = next((each for each in keys if each.id == credential.key_id), None)
    if key is None:
        raise CredentialError(
            f"the key file lacks the key `{credential.key_id}`, which the credential is encrypted with",
            hint="add the key to the file again, or set the credential again",
        )
    nonce, text = credential.sealed[:_NONCE], credential.sealed[_NONCE:]
    try:
        return AESGCM(key.secret).decrypt(nonce, text, _bound(credential.place, key.id)).decode()
    except (InvalidTag, ValueError):
        raise CredentialError(
            "the stored credential was changed, or belongs to another place", hint="set it again"
        ) from None


def _bound(place: CredentialPlace, key_id: str) -> bytes:
    """Write the place and the key, so that a row that was moved or edited cannot be decrypted."""
    return json.dumps([_VERSION, key_id, *place]).encode()


def _key(line: str) -> EncryptionKey:
    secret = b64decode(line, validate=True)
    if len(secret) != _BYTES:
        raise ValueError("wrong length")
    return EncryptionKey(_key_id(secret), secret)


def _key_id(secret: bytes) -> str:
    return sha256(b"remit key id" + secret).hexdigest()[:8]
