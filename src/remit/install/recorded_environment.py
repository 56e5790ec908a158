"""The recorded environment of an installed process: where its files are, and how it reaches the network.

A repository can set variables for the servers and hooks of a client. So `remit install` records them, and a
process started with `--install` takes them from the record and never from its environment.

Hooks import this module before anything else, so it imports little.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple, cast

from remit.decision.permissions.client_facts import CLIENTS
from remit.errors import InstallRecordError
from remit.settings import LIBPQ, STORE

OPTION = "--install"
_LIMIT = 16 * 2**20  # bytes of a record

_LOCATING = (  # variables that locate files of Remit or of a client, or say what counts in them
    *("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA"),
    *(name for client in CLIENTS.values() for name in client.locating),
)
_NETWORK = (  # variables that say who reads Remit's own connections
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "OPENSSL_CONF", "OPENSSL_MODULES"),
    *(
        "LOCALDOMAIN",
        "RES_OPTIONS",
        "HOSTALIASES",
        "RESOLV_HOST_CONF",
        "KRB5_CONFIG",
        "KRB5CCNAME",
        "KRB5_KTNAME",
    ),
)
_SEARCH = ("REMIT_EMBEDDINGS", "REMIT_EMBEDDINGS_MODEL", "REMIT_EMBEDDINGS_KEY_FILE", "REMIT_FUSION")
_SERVICE = ("PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR")  # name all the rest of a connection to PostgreSQL
_POSTGRES = (*_SERVICE, "PGPASSFILE", "PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGSSLCRL")
_LIBPQ = re.compile(r"PG[A-Z]+")  # variables of libpq; a user's own servers may need them
_FIXED = re.compile(rf"REMIT_(?!DEPTH$).*|{'|'.join((*_LOCATING, *_NETWORK, *_SERVICE))}", re.IGNORECASE)
_UNRECORDED = ("OPENCODE_CONFIG_CONTENT",)  # may contain secrets


class RecordedEnvironment(NamedTuple):
    """What an installed process takes from its record instead of its environment."""

    home: str | None = None  # None: the home of the account that runs the process
    data: str | None = None  # Remit's data directory; None: the usual one below the home
    configuration: str | None = None  # the user's `remit.toml`; None: the usual one below the home
    variables: Mapping[str, str] = {}
    path: str | None = None  # `PATH`, used only where a repository sets another one
    store: str | None = None  # the address of the store, without a password; None: as configured

    def apply(self, environment: MutableMapping[str, str], platform: str = sys.platform) -> None:
        """Replace all variables that locate files or connections."""
        home = self.home or account_home(environment)
        for name in [name for name in environment if is_fixed(name)]:
            del environment[name]
        environment.update(self.variables)
        environment["USERPROFILE" if platform == "win32" else "HOME"] = home
        if self.data is not None:
            environment["REMIT_HOME"] = self.data
        if self.configuration is not None:
            environment["REMIT_CONFIG"] = self.configuration
        if self.store is not None:
            environment[STORE] = self.store
        if any(map(_LIBPQ.fullmatch, environment)):
            environment[LIBPQ] = ",".join(name for name in self.variables if _LIBPQ.fullmatch(name))

    def as_json(self) -> dict[str, Any]:
        """Return the environment as a record holds it."""
        return {**self._asdict(), "variables": dict(self.variables)}


def record_words(record: str) -> list[str]:
    """Return the option that makes a process independent of its environment."""
    return [OPTION, os.path.abspath(record)]


def is_fixed(variable: str) -> bool:
    """Tell whether an installed process ignores a variable of its environment."""
    return _FIXED.fullmatch(variable) is not None


def environment_of(
    home: str, data: str, configuration: str, variables: Mapping[str, str], *, is_shared: bool = False
) -> RecordedEnvironment:
    """Take the environment of the person who installs; a shared store is in PostgreSQL.

    The key of an embeddings endpoint is never recorded, only the file that holds it. A value with a password,
    such as that of a proxy, is not recorded either; the caller refuses a store's address that has one.
    """
    kinds = (*_LOCATING, *_SEARCH, *(_POSTGRES if is_shared else ()))
    kept = {
        name: value
        for name, value in variables.items()
        if value
        and (name.upper() in _NETWORK or name in kinds)
        and name not in (*_UNRECORDED, "HOME", "USERPROFILE")
        and not _has_password(value)
    }
    home, data, configuration = map(os.path.abspath, (home, data, configuration))
    return RecordedEnvironment(
        home, data, configuration, kept, variables.get("PATH"), variables.get(STORE) or None
    )


def managed_environment(variables: Mapping[str, str]) -> RecordedEnvironment:
    """Make the environment of an administrator's install: every user's own home applies.

    Only proxies and certificates are recorded, unless they hold a password.
    """
    kept = {
        name: value
        for name, value in variables.items()
        if value and name.upper() in _NETWORK and not _has_password(value)
    }
    return RecordedEnvironment(variables=kept)


def unrecorded(variables: Mapping[str, str], *, is_shared: bool = False) -> list[str]:
    """List the variables with a value that installed processes will not have."""
    lost = (
        name
        for name, value in variables.items()
        if name.upper() in _NETWORK and value and _has_password(value)
    )
    keys = {
        "REMIT_EMBEDDINGS_KEY": not variables.get("REMIT_EMBEDDINGS_KEY_FILE"),
        "PGPASSWORD": is_shared,
    }
    return sorted((*lost, *(name for name, is_needed in keys.items() if is_needed and name in variables)))


def account_home(environment: Mapping[str, str]) -> str:
    """Return the home directory of the account, whatever `HOME` says."""
    try:
        import pwd
    except ImportError:  # Windows
        return environment.get("USERPROFILE") or os.path.expanduser("~")
    return pwd.getpwuid(os.getuid()).pw_dir


def read_environment(path: str) -> RecordedEnvironment:
    """Read the environment from an install record.

    Raises:
        InstallRecordError: the record is missing or damaged.
    """
    try:
        with open(path, "rb") as opened:
            content = json.loads(opened.read(_LIMIT))
        return parse_environment(content["ground"])
    except FileNotFoundError:
        raise InstallRecordError(path, "does not exist") from None
    except OSError as error:
        raise InstallRecordError(path, f"cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InstallRecordError(path, "is damaged") from None


def nesting_mark(path: str) -> str:
    """Return the value of `REMIT_DEPTH` for all that an installed process starts.

    It comes from the install record, so no repository can set it.
    """
    from hashlib import sha256  # hooks do not need it

    try:
        with open(path, "rb") as opened:
            return sha256(opened.read(_LIMIT)).hexdigest()
    except OSError as error:
        raise InstallRecordError(path, f"cannot be read ({error.strerror})") from None


def parse_environment(content: object) -> RecordedEnvironment:
    """Check the environment in a record.

    Raises:
        ValueError: it is not an environment.
    """
    if not isinstance(content, dict):
        raise ValueError("no environment")
    fields = cast("dict[str, object]", content)
    paths = [fields.get(name) for name in ("home", "data", "configuration")]
    variables = fields.get("variables", {})
    if not all(path is None or (isinstance(path, str) and os.path.isabs(path)) for path in paths):
        raise ValueError("not absolute paths")
    if not isinstance(variables, dict):
        raise ValueError("not variables")
    kept = {str(name): str(value) for name, value in cast("dict[object, object]", variables).items()}
    home, data, configuration = cast("list[str | None]", paths)
    path, store = fields.get("path"), fields.get("store")
    if store is not None and not (isinstance(store, str) and _is_address(store)):
        raise ValueError("not the address of a store")
    return RecordedEnvironment(
        home, data, configuration, kept, path if isinstance(path, str) else None, store
    )


def has_store_password(address: str) -> bool:
    """Tell whether the address of a PostgreSQL database may contain a password."""
    rest = address.partition("://")[2]
    return ":" in rest.rpartition("@")[0] or re.search(r"[?&](?:\w*password|\w*secret)=", rest) is not None


def _is_address(place: str) -> bool:
    from remit.configuration.store_place import is_address  # few records name a store

    return is_address(place)


def _has_password(value: str) -> bool:
    return "@" in value.partition("://")[2].partition("/")[0]
