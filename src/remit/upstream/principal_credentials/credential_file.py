"""Stores encrypted credentials in a file of the data directory, for a store that is one machine's own."""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import Any

from remit.errors import CredentialError
from remit.files import private_files
from remit.files.file_lock import file_lock
from remit.upstream.principal_credentials.credential_model import CredentialPlace, SealedCredential

FILE = "credentials.json"


class CredentialFile:
    """The credentials of everyone who uses this machine's gateway."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, FILE)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def follow(self) -> None:
        """Do nothing: the file shows its changes."""

    def revision(self) -> object:
        """Return a value that changes with the file."""
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def find(self, principal: str, server: str, project: str | None) -> SealedCredential | None:
        """Find the credential of a principal for a server.

        Raises:
            CredentialError: the file cannot be read.
        """
        wanted = (principal, server, project)
        return next((each for each in self.all() if _owner(each) == wanted), None)

    def all(self) -> Sequence[SealedCredential]:
        """List all credentials.

        Raises:
            CredentialError: the file cannot be read.
        """
        try:
            with open(self._path, encoding="utf-8") as opened:
                return [_credential(item) for item in json.load(opened)["credentials"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CredentialError(
                f"the credentials in `{self._path}` cannot be read ({type(error).__name__})",
                hint="fix the file, or remove it and set the credentials again",
            ) from None

    def save(self, credential: SealedCredential) -> None:
        """Store a credential, replacing that of the same principal and server.

        Raises:
            CredentialError: the file cannot be used.
        """
        self._change(
            lambda found: [*(each for each in found if _owner(each) != _owner(credential)), credential]
        )

    def reseal(self, before: SealedCredential, after: SealedCredential) -> bool:
        """Replace a credential by itself under another key; False if it changed meanwhile.

        Raises:
            CredentialError: the file cannot be used.
        """
        return self._change(lambda found: [after if each == before else each for each in found]) > 0

    def remove(self, principal: str, server: str | None) -> int:
        """Remove the credentials of a principal, for one server or for all; return how many.

        Raises:
            CredentialError: the file cannot be used.
        """
        return self._change(
            lambda found: [
                each
                for each in found
                if each.place.principal != principal or server not in (None, each.place.server)
            ]
        )

    def forget(self, project: str) -> None:
        """Remove the credentials for servers of a project.

        Raises:
            CredentialError: the file cannot be used.
        """
        self._change(lambda found: [each for each in found if each.place.project != project])

    def _change(self, change: Callable[[Sequence[SealedCredential]], Sequence[SealedCredential]]) -> int:
        """Rewrite the file, and return how many of its credentials are gone."""
        try:
            with file_lock(self._path):
                before = self.all()
                after = change(before)
                if after != before:
                    text = json.dumps({"credentials": [_item(each) for each in after]}, indent=1)
                    private_files.write(self._path, text)
        except OSError as error:
            raise CredentialError(f"the credentials cannot be written: {error.strerror}") from None
        return sum(each not in after for each in before)


def _owner(credential: SealedCredential) -> tuple[str, str, str | None]:
    place = credential.place
    return place.principal, place.server, place.project


def _item(credential: SealedCredential) -> dict[str, Any]:
    return {
        **credential.place._asdict(),
        "key_id": credential.key_id,
        "sealed": b64encode(credential.sealed).decode(),
        "created_at": credential.created_at,
    }


def _credential(item: Any) -> SealedCredential:
    project = item["project"]
    place = CredentialPlace(
        str(item["principal"]),
        str(item["server"]),
        str(item["target"]),
        None if project is None else str(project),
    )
    sealed = b64decode(item["sealed"], validate=True)
    return SealedCredential(place, str(item["key_id"]), sealed, int(item["created_at"]))
