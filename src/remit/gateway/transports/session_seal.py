"""Session ids that carry their session: sealed with a key that all gateways of a store share.

An id is bound to its endpoint and its principal, so it is worth nothing to anyone else.
"""

import base64
import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from remit.text.json_values import as_object

if TYPE_CHECKING:
    from remit.store.postgres.session_key_store import SqlSessionKeys

LIFETIME = 7 * 24 * 3_600_000  # milliseconds in which a session can move
ROTATION = 24 * 3_600_000  # milliseconds for which a key seals
LONGEST = 1_000  # characters of an id
_LONGEST_PARAMETERS = 8_000  # bytes
_LONGEST_NAME = 64
_MARK = "r1."
_NONCE = 12  # bytes
_KEY, _KEY_ID = 32, 6  # bytes
_REREAD = 5.0  # seconds between two looks for a key that is not known


class SealedSession(NamedTuple):
    """What another node needs to go on with a session."""

    name: str
    opened_at: int  # Unix milliseconds
    parameters: Mapping[str, Any]  # of `initialize`


class SessionSeal:
    """Seals sessions into ids, and opens the ids of other nodes; its methods may wait for the store."""

    def __init__(self, rows: "SqlSessionKeys", now: Callable[[], int]) -> None:
        self._rows = rows
        self._now = now
        self._lock = threading.Lock()
        self._keys: dict[str, tuple[bytes, int]] = {}  # key and time, by id, newest first
        self._read_at = -_REREAD
        self._seen: int | None = None  # the revision of the ended sessions at the last look

    def close(self) -> None:
        """Close the store."""
        self._rows.close()

    def follow(self, tell: Callable[[], object]) -> None:
        """Call a function from another thread after each change of the store, until closed."""
        self._rows.follow(tell)

    def seal(self, parameters: Mapping[str, Any], holder: str) -> tuple[str, SealedSession] | None:
        """Return the id of a new session; None if it is too long, or there is no key.

        Raises:
            StoreError: the store cannot be used.
        """
        session = SealedSession(os.urandom(16).hex(), self._now(), _essential(parameters))
        written = json.dumps(session, separators=(",", ":")).encode()
        if len(written) > _LONGEST_PARAMETERS:
            return None
        id = self.encrypt(zlib.compress(written), holder)
        return None if id is None or len(id) > LONGEST else (id, session)

    def open(self, id: str, holder: str) -> SealedSession | None:
        """Return the session of an id; None if it is invalid, expired, or of someone else.

        Raises:
            StoreError: the store cannot be used.
        """
        found = self.decrypt(id, holder) if len(id) <= LONGEST else None
        if found is None:
            return None
        session = SealedSession(*json.loads(zlib.decompress(found)))
        return session if self._now() < session.opened_at + LIFETIME else None

    def encrypt(self, content: bytes, holder: str) -> str | None:
        """Return a text that only gateways of this store can read, for this holder; None without a key.

        Raises:
            StoreError: the store cannot be used.
        """
        found = self._current()
        if found is None:
            return None
        key_id, key = found
        head = bytes.fromhex(key_id) + os.urandom(_NONCE)
        return _written(head + AESGCM(key).encrypt(head[_KEY_ID:], content, holder.encode()))

    def decrypt(self, text: str, holder: str) -> bytes | None:
        """Return what was encrypted for a holder; None if it was not, or its key is gone.

        Raises:
            StoreError: the store cannot be used.
        """
        if not text.startswith(_MARK):
            return None
        try:
            raw = base64.b64decode(text[len(_MARK) :] + "===", altchars="-_", validate=False)
            if _written(raw) != text:  # another spelling of an id that may have ended, or be bound to a node
                return None
            key = self._key(raw[:_KEY_ID].hex())
            if key is None:
                return None
            nonce, sealed = raw[_KEY_ID : _KEY_ID + _NONCE], raw[_KEY_ID + _NONCE :]
            return AESGCM(key).decrypt(nonce, sealed, holder.encode())
        except (InvalidTag, ValueError):
            return None

    def bind(self, id: str) -> None:
        """Note that the session of an id cannot move.

        Raises:
            StoreError: the store cannot be used.
        """
        self._rows.bind(digest(id), self._now())

    def is_fixed(self, id: str) -> bool:
        """Return whether the session of an id cannot move, or is over.

        Raises:
            StoreError: the store cannot be used.
        """
        return self._rows.is_fixed(digest(id))

    def end(self, id: str) -> bool:
        """Note that the session of an id is over, for all nodes; return False if it was.

        Raises:
            StoreError: the store cannot be used.
        """
        return self._rows.end(digest(id), self._now())

    def may_have_ended(self) -> bool:
        """Return whether a session has ended since the last look, as far as is known without asking."""
        return self._seen is None or self._rows.known_revision() != self._seen

    def ended(self, ids: Iterable[str]) -> list[str]:
        """Return those of some ids whose sessions are over.

        Raises:
            StoreError: the store cannot be used.
        """
        held = {digest(id): id for id in ids}
        revision = self._rows.revision()  # read first: what ends meanwhile is found by the next look
        found = [held[each] for each in self._rows.ended([*held])] if held else []
        self._seen = revision
        return found

    def _current(self) -> tuple[str, bytes] | None:
        """Return the newest key; make one if it is too old."""
        with self._lock:
            now = self._now()
            if not any(made > now - ROTATION for _, made in self._keys.values()):
                made = os.urandom(_KEY_ID).hex(), os.urandom(_KEY).hex()
                self._rows.add_key(*made, at=now, since=now - ROTATION)
                self._rows.drop(before=now - LIFETIME - ROTATION)
                self._read()
            return next(((id, key) for id, (key, _) in self._keys.items()), None)

    def _key(self, id: str) -> bytes | None:
        with self._lock:
            if id not in self._keys and time.monotonic() - self._read_at > _REREAD:
                self._read()
            return self._keys[id][0] if id in self._keys else None

    def _read(self) -> None:
        self._read_at = time.monotonic()
        self._keys = {id: (bytes.fromhex(key), made) for id, key, made in self._rows.all_keys()}


def digest(id: str) -> str:
    """Return what is stored about an id, which lets nobody use it."""
    return sha256(id.encode("utf-8", "replace")).hexdigest()


def _written(raw: bytes) -> str:
    return _MARK + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _essential(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what only describes the client, such as its icons."""
    kept = {name: parameters[name] for name in ("protocolVersion", "capabilities") if name in parameters}
    client = as_object(parameters.get("clientInfo"))
    named = {name: str(client[name])[:_LONGEST_NAME] for name in ("name", "version") if name in client}
    return {**kept, "clientInfo": named}
