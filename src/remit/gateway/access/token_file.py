"""Stores the grants of gateway tokens in a file that only the user can read."""

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from remit.configuration.config_model import Role
from remit.decision.projects import Project
from remit.errors import TokenError
from remit.files import private_files
from remit.files.file_lock import file_lock
from remit.gateway.access.token_grants import Grant, digest, name_taken, new_token, read_grants

FILE = "tokens.json"


class TokenFile:
    """The tokens of one user, stored as hashes."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, FILE)
        self._read: tuple[object, Sequence[Grant]] = (None, ())

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def follow(self) -> None:
        """Do nothing: the file shows its changes."""

    def grants(self) -> Sequence[Grant]:
        """List the grants; read the file again if it changed.

        Raises:
            TokenError: the file cannot be read, so no token can be checked.
        """
        try:
            found = os.stat(self._path)
            mark = (found.st_mtime_ns, found.st_size, found.st_ino)
            if self._read[0] != mark:
                with open(self._path, encoding="utf-8") as file:
                    self._read = mark, read_grants(json.load(file)["tokens"])
        except FileNotFoundError:
            self._read = None, ()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TokenError(
                f"the tokens in `{self._path}` cannot be read ({type(error).__name__})",
                hint="fix the file, or remove it and add the tokens again",
            ) from error
        return self._read[1]

    def newer(self) -> None:
        """Return nothing to wait for: `grants` reads the file."""

    def add(
        self,
        name: str,
        *,
        projects: Sequence[Project],
        agents: Sequence[str],
        role: Role = Role.USER,
        at: int,
    ) -> str:
        """Create a token and return it; only its hash is stored.

        Raises:
            TokenError: the name is taken, or the file cannot be used.
        """
        token = new_token()
        made = Grant(
            name=name,
            digest=digest(token),
            projects=tuple(projects),
            agents=tuple(agents),
            role=role,
            created_at=at,
        )
        with self._changing() as grants:
            if any(grant.name == name for grant in grants):
                raise name_taken(name)
            self._write([*grants, made])
        return token

    def revoke(self, name: str) -> bool:
        """Revoke a token; return False if there is none with this name.

        Raises:
            TokenError: the file cannot be used.
        """
        with self._changing() as grants:
            kept = [grant for grant in grants if grant.name != name]
            if len(kept) < len(grants):
                self._write(kept)
        return len(kept) < len(grants)

    @contextmanager
    def _changing(self) -> Generator[Sequence[Grant]]:
        """Lock the file and read the grants, so a concurrent change cannot restore a revoked token."""
        try:
            with file_lock(self._path):
                self._read = None, ()
                yield self.grants()
        except OSError as error:
            raise TokenError(f"the tokens cannot be written: {error.strerror}") from error

    def _write(self, grants: Sequence[Grant]) -> None:
        rows = [
            {
                "name": grant.name,
                "sha256": grant.digest,
                "projects": [project._asdict() for project in grant.projects],
                "agents": grant.agents,
                "role": grant.role,
                "created_at": grant.created_at,
            }
            for grant in grants
        ]
        private_files.write(self._path, json.dumps({"tokens": rows}, indent=1))
