"""What was signed in to, kept in the system's keyring or, where there is none, in files for the user alone.

Never in the database: that is copied, looked at and sent around.
"""

import importlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any, Protocol, cast

from remit.files import private_files

FOLDER = "sign-ins"
SERVICE = "remit"  # what it is called in a keyring


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StoredToken:
    """What a server takes for its user; all of it is secret."""

    token_endpoint: str  # where a new token is got for an old one
    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None  # seconds since 1970
    client_id: str = ""
    client_secret: str | None = None
    client_method: str | None = None  # how the client shows its secret
    resource: str | None = None  # what the token is for
    scope: str | None = None  # what it allows, as far as the server said

    def __repr__(self) -> str:
        return "SignIn()"

    def is_expired(self, now: float) -> bool:
        """Whether its time is up, or nearly so."""
        return self.expires_at is not None and now >= self.expires_at - 10


class TokenStore(Protocol):
    """Keeps what was signed in to, by the URL of the server."""

    def load(self, url: str) -> StoredToken | None:
        """Find what was kept; None where nothing was."""
        ...

    def save(self, url: str, sign_in: StoredToken) -> None:
        """Keep it instead of what was kept.

        Raises:
            OSError: it cannot be written.
        """
        ...

    def forget(self, url: str) -> bool:
        """Keep nothing of a server any more; False where nothing was kept."""
        ...


class FileTokenStore:
    """Sign-ins as files that only the user can read."""

    def __init__(self, directory: str) -> None:
        self._directory = os.path.join(directory, FOLDER)

    def load(self, url: str) -> StoredToken | None:
        """Find what was kept; None where nothing was."""
        try:
            with open(self._path(url), encoding="utf-8") as opened:
                return _read(opened.read())
        except (OSError, UnicodeError):
            return None

    def save(self, url: str, sign_in: StoredToken) -> None:
        """Keep it instead of what was kept.

        Raises:
            OSError: it cannot be written.
        """
        private_files.write(self._path(url), json.dumps(asdict(sign_in)))

    def forget(self, url: str) -> bool:
        """Keep nothing of a server any more; False where nothing was kept."""
        try:
            os.remove(self._path(url))
        except OSError:
            return False
        return True

    def _path(self, url: str) -> str:
        return os.path.join(self._directory, f"{name_of(url)}.json")


class KeyringTokenStore:
    """Sign-ins in the system's keyring, and in files where that does not work after all."""

    def __init__(self, keyring: Any, files: FileTokenStore) -> None:
        self._keyring = keyring
        self._files = files

    def load(self, url: str) -> StoredToken | None:
        """Find what was kept; None where nothing was."""
        with suppress(Exception):  # whatever a keyring raises, it is as if nothing was there
            kept = self._keyring.get_password(SERVICE, name_of(url))
            if kept is not None and (found := _read(kept)) is not None:
                return found
        return self._files.load(url)

    def save(self, url: str, sign_in: StoredToken) -> None:
        """Keep it instead of what was kept.

        Raises:
            OSError: it cannot be written.
        """
        try:
            self._keyring.set_password(SERVICE, name_of(url), json.dumps(asdict(sign_in)))
        except Exception:  # it may be locked, or too small for a long token
            with suppress(Exception):
                self._keyring.delete_password(SERVICE, name_of(url))
            self._files.save(url, sign_in)
        else:
            self._files.forget(url)

    def forget(self, url: str) -> bool:
        """Keep nothing of a server any more; False where nothing was kept."""
        was_kept = self._files.forget(url)
        with suppress(Exception):
            if self._keyring.get_password(SERVICE, name_of(url)) is not None:
                self._keyring.delete_password(SERVICE, name_of(url))
                was_kept = True
        return was_kept


def open_token_store(directory: str) -> TokenStore:
    """Find the place for sign-ins: the keyring, where the package `keyring` is installed and has one."""
    files = FileTokenStore(directory)
    try:
        keyring: Any = importlib.import_module("keyring")
        return KeyringTokenStore(keyring, files) if keyring.get_keyring().priority >= 1 else files
    except Exception:  # what a keyring raises has no base but this
        return files


def name_of(url: str) -> str:
    """Name a server without its URL, which may be secret."""
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
