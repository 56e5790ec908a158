"""The address of a PostgreSQL database: what libpq makes of it, and what may be shown of it.

A password comes from the file that `password_file` in the address names, or from where libpq finds it: the
address, `PGPASSWORD`, a service file, or the file of passwords. It is never shown.
"""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from remit.errors import StoreUnavailableError
from remit.files.private_files import ExposedFileError, read_secret
from remit.settings import LIBPQ

CONNECT_SECONDS = 5
_PROVEN = ("verify-ca", "verify-full")  # the server proves who it is
# Seconds, and milliseconds of the last: after six seconds without its acknowledgments, a host counts as gone.
_KEEPALIVES = {
    "keepalives_idle": "3",
    "keepalives_interval": "1",
    "keepalives_count": "3",
    "tcp_user_timeout": "6000",
}
_PASSWORD_FILE = "password_file"  # noqa: S105 - the name of a parameter
_WRITE = "write it as `postgresql://USER@HOST:PORT/DATABASE`, and special characters as `%40` for `@`"


def connection_parameters(address: str, variables: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return the parameters of a connection.

    Raises:
        StoreUnavailableError: the address is invalid, or its password file cannot be used.
    """
    given, password_file = _parsed(address)
    if password_file:
        given["password"] = _read_password(password_file)
    if given.get("sslmode") not in _PROVEN:  # whoever answers under the name of the host could ask for it
        given.setdefault("require_auth", "!password")
    given.setdefault("connect_timeout", str(CONNECT_SECONDS))
    given.setdefault("application_name", "remit")
    return {**_neutral(variables), **_KEEPALIVES, **given}


def shown(address: str) -> str:
    """Write an address for messages, without user and password."""
    try:
        given, _ = _parsed(address)
    except StoreUnavailableError:
        return "postgresql://"
    if service := given.get("service"):
        return f"postgresql:///?service={service}"
    port = given.get("port")
    hosts = str(given.get("host") or given.get("hostaddr") or "")
    return f"postgresql://{hosts}{f':{port}' if port else ''}/{given.get('dbname') or ''}"


def _parsed(address: str) -> tuple[dict[str, Any], str]:
    """Split an address into libpq's parameters and the path of a password file."""
    start, mark, query = address.partition("?")
    parameters = parse_qsl(query, keep_blank_values=True)
    own = [value for name, value in parameters if name == _PASSWORD_FILE]
    if own:
        others = urlencode([each for each in parameters if each[0] != _PASSWORD_FILE])
        address = f"{start}{mark}{others}" if others else start
    try:
        given = dict(conninfo_to_dict(address))
    except psycopg.Error:  # whose message may contain a part of the password
        given = None
    # A `/` in a password ends the host: the rest of the password would be the port and the database.
    _, _, path = start.partition("://")[2].partition("/")
    if given is None or "@" in path or not re.fullmatch(r"[\d,]*", str(given.get("port") or "")):
        raise StoreUnavailableError("the address of the store is invalid", hint=_WRITE)
    return given, own[-1] if own else ""


def _neutral(variables: Mapping[str, str]) -> dict[str, str]:
    """Return libpq's defaults for the variables that a repository may have set for an installed process."""
    if LIBPQ not in variables:
        return {}
    own = variables[LIBPQ].split(",")
    options = ((each.envvar or b"", each) for each in pq.Conninfo.get_defaults())
    return {
        option.keyword.decode(): (option.compiled or b"").decode()
        for name, option in options
        if name and name.decode() in variables and name.decode() not in own
    }


def _read_password(path: str) -> str:
    """Read a password that only this user, or also the group of a file of root, can read."""
    try:
        return read_secret(path)
    except ExposedFileError:
        raise StoreUnavailableError(
            f"others can read the password of the store in {path}", hint=f"run `chmod 600 {path}`"
        ) from None
    except OSError as error:
        raise StoreUnavailableError(
            f"the password of the store in {path} cannot be read: {error.strerror}",
            hint="write the password alone into that file",
        ) from None
