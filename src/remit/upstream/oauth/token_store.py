"""Stores OAuth tokens in the system keyring or, if there is none, in files that only the user can read.

Tokens never go into the database, which people copy and share.
"""

import importlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any, cast

from remit.files import private_files

FOLDER = "sign-ins"
SERVICE = "remit"  # the name in the keyring


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoredToken:
    """The tokens for one server; all fields are secret."""

    token_endpoint: str  # which refreshes tokens
    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None  # seconds since 1970
    client_id: str = ""
    client_secret: str | None = None
    client_method: str | None = None  # how the client authenticates
    resource: str | None = None  # the resource that it is for
    scope: str | None = None  # if the server named it

    def __repr__(self) -> str:
        return "StoredToken()"

    def is_expired(self, now: float) -> bool:
        """Check whether the token has expired, or is about to."""
        return self.expires_at is not None and now >= self.expires_at - 10


class FileTokenStore:
    """Tokens in files that only the user can read."""

    def __init__(self, directory: str) -> None:
        self._directory = os.path.join(directory, FOLDER)

    def load(self, url: str) -> StoredToken | None:
        """Return the stored token, or None."""
        try:
            with open(self._path(url), encoding="utf-8") as opened:
                return _read(opened.read())
        except (OSError, UnicodeError):
            return None

    def save(self, url: str, token: StoredToken) -> None:
        """Store a token, replacing an earlier one.

        Raises:
            OSError: it cannot be written.
        """
        private_files.write(self._path(url), json.dumps(asdict(token)))

    def forget(self, url: str) -> bool:
        """Delete the token of a server; return False if there was none."""
        try:
            os.remove(self._path(url))
        except OSError:
            return False
        return True

    def _path(self, url: str) -> str:
        return os.path.join(self._directory, f"{token_name(url)}.json")


class KeyringTokenStore:
    """Tokens in the system keyring, or in files if the keyring fails."""

    def __init__(self, keyring: Any, files: FileTokenStore) -> None:
        self._keyring = keyring
        self._files = files

    def load(self, url: str) -> StoredToken | None:
        """Return the stored token, or None."""
        with suppress(Exception):  # keyrings raise anything
            text = self._keyring.get_password(SERVICE, token_name(url))
            if text is not None and (found := _read(text)) is not None:
                return found
        return self._files.load(url)

    def save(self, url: str, token: StoredToken) -> None:
        """Store a token, replacing an earlier one.

        Raises:
            OSError: it cannot be written.
        """
        try:
            self._keyring.set_password(SERVICE, token_name(url), json.dumps(asdict(token)))
        except Exception:  # it may be locked, or have no room for a long token
            with suppress(Exception):
                self._keyring.delete_password(SERVICE, token_name(url))
            self._files.save(url, token)
        else:
            self._files.forget(url)

    def forget(self, url: str) -> bool:
        """Delete the token of a server; return False if there was none."""
        was_stored = self._files.forget(url)
        with suppress(Exception):
            if self._keyring.get_password(SERVICE, token_name(url)) is not None:
                self._keyring.delete_password(SERVICE, token_name(url))
                was_stored = True
        return was_stored


TokenStore = FileTokenStore | KeyringTokenStore


def open_token_store(directory: str) -> TokenStore:
    """Open the keyring if the `keyring` package is installed and finds one, else the files."""
    files = FileTokenStore(directory)
    try:
        keyring: Any = importlib.import_module("keyring")
        return KeyringTokenStore(keyring, files) if keyring.get_keyring().priority >= 1 else files
    except Exception:  # keyring errors have no common base class
        return files


def token_name(url: str) -> str:
    """Hash a server's URL, which may be secret, into the name of its token."""
    return sha256(url.encode()).hexdigest()[:32]


def _read(text: str) -> StoredToken | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    kept = cast("dict[str, Any]", found)
    names = {field.name for field in fields(StoredToken)}
    needed = (kept.get("token_endpoint"), kept.get("access_token"))
    if not all(isinstance(value, str) for value in needed):
        return None
    return StoredToken(**{name: value for name, value in kept.items() if name in names})
