"""Settings from environment variables: Remit's data directory, and the embedding provider.

The platform's directories are computed here: importing a library for them takes longer than recording a use.
"""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from remit.errors import BadVariableError

if TYPE_CHECKING:
    from remit.files.bounded_reader import Machine

DEPTH = "REMIT_DEPTH"  # set for all that Remit starts, so a nested `remit serve` refuses to start
NESTED = f"1-{os.urandom(8).hex()}"  # its value, unless an install record gives another one
DATABASE = "remit.db"
STORE = "REMIT_STORE"  # names a PostgreSQL database
STORE_ADMIN = "REMIT_STORE_ADMIN"  # names it as a user who may administer it
STORE_KEY_FILE = "REMIT_STORE_KEY_FILE"  # has the keys that encrypt credentials
CLIENT_SECRET = "REMIT_CLIENT_SECRET"  # noqa: S105 - a name; known to the issuer, never passed to servers
TRACE_HEADERS = re.compile(r"OTEL_EXPORTER_OTLP_(\w+_)?HEADERS")  # hold the key of a collector
STORE_VARIABLES = re.compile(r"PG[A-Z]+")  # lead to the store and its password
# Names of the variables of libpq that an installed process may use; others may be a repository's.
LIBPQ = "REMIT_LIBPQ_VARIABLES"
MODELS = {"static": "static-1", "onnx": "onnx-1", "none": None}  # new weights need a new name
PROVIDERS = tuple(MODELS)
FUSIONS = ("score", "rank")
KEY = "REMIT_EMBEDDINGS_KEY"  # never passed to servers
KEY_FILE = "REMIT_EMBEDDINGS_KEY_FILE"
_MAX_KEY = 10_000  # characters

# No user and password, and no fragment.
_URL = r"(?ai)https?://(?:[\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?(?:/[!\"$-~]*)?"
_LAST_PORT = 65535

DEFAULT_LIMIT = 20  # results of a search
MAX_LIMIT = 50
DEFAULT_WAIT = 0.25  # seconds that a search waits for the endpoint
DEADLINE = 30.0  # seconds; a runner such as `npx` may need to download the server first


class Embeddings(NamedTuple):
    """The embedding provider."""

    provider: str  # one of `PROVIDERS`, or the URL of an endpoint
    model: str = ""  # of the endpoint
    key: str | None = None
    wait: float = DEFAULT_WAIT

    @property
    def name(self) -> str | None:
        """The name that identifies its vectors; None if it makes none."""
        if self.provider in MODELS:
            return MODELS[self.provider]
        host = self.provider.split("/")[2]
        return f"{self.model}@{host}"

    def __repr__(self) -> str:
        return f"Embeddings({self.provider if self.provider in PROVIDERS else self.model!r})"


def data_directory(machine: "Machine") -> str:
    """Return Remit's data directory: `REMIT_HOME`, else the platform's directory for user data."""
    home, variables, platform, _ = machine
    if given := variables.get("REMIT_HOME"):
        return given
    if platform == "win32":
        return os.path.join(variables.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "remit")
    if platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "remit")
    return os.path.join(variables.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "remit")


def embeddings(variables: Mapping[str, str]) -> Embeddings:
    """Read the embedding provider; the default is the bundled table.

    Raises:
        BadVariableError: the provider is unknown, an endpoint has no model, or its wait is not a number.
    """
    provider = (variables.get("REMIT_EMBEDDINGS") or PROVIDERS[0]).strip()
    if provider in PROVIDERS:
        return Embeddings(provider)
    if not _is_url(provider):  # the message omits the value, which may contain a password
        raise BadVariableError(
            "`REMIT_EMBEDDINGS` is neither a provider nor a usable URL",
            hint="set it to `static`, `onnx`, `none` or an http(s) URL without user, password and fragment",
        )
    model = (variables.get("REMIT_EMBEDDINGS_MODEL") or "").strip()
    if not model or not model.isprintable():
        raise BadVariableError(
            "`REMIT_EMBEDDINGS` is a URL, and `REMIT_EMBEDDINGS_MODEL` is not set",
            hint="set `REMIT_EMBEDDINGS_MODEL` to a model that the endpoint has",
        )
    return Embeddings(provider, model, _key(variables), _wait(variables))


def _key(variables: Mapping[str, str]) -> str | None:
    """Read the key of an endpoint: from its own variable, or from a private file that a variable names.

    Raises:
        BadVariableError: the file cannot be read, or others can read it too.
    """
    given, path = (variables.get(KEY) or "").strip(), variables.get(KEY_FILE)
    if given or not path:
        return given or None
    try:
        with open(path, encoding="utf-8", errors="replace") as opened:
            if os.name == "posix" and os.fstat(opened.fileno()).st_mode & 0o077:
                raise BadVariableError(
                    f"`{KEY_FILE}` names a file that others can read", hint=f"run `chmod 600 {path}`"
                )
            return opened.read(_MAX_KEY).strip() or None
    except OSError as error:
        raise BadVariableError(
            f"`{KEY_FILE}` names a file that cannot be read: {error.strerror}",
            hint="write the key alone into that file",
        ) from None


def _wait(variables: Mapping[str, str]) -> float:
    given = (variables.get("REMIT_EMBEDDINGS_WAIT") or "").strip()
    if given and not re.fullmatch(r"\d{1,3}(\.\d{1,3})?", given):
        raise BadVariableError(
            "`REMIT_EMBEDDINGS_WAIT` is not a number of seconds", hint="set it to a number such as `0.5`"
        )
    return float(given) if given else DEFAULT_WAIT


def fuses_ranks(variables: Mapping[str, str]) -> bool:
    """Tell whether word and vector results are fused by rank instead of score.

    Raises:
        BadVariableError: the value is unknown.
    """
    given = variables.get("REMIT_FUSION") or FUSIONS[0]
    if given not in FUSIONS:
        raise BadVariableError("`REMIT_FUSION` is not a known method", hint="set it to `score` or `rank`")
    return given == "rank"


def _is_url(text: str) -> bool:
    found = re.fullmatch(_URL, text)
    return found is not None and int(found[1] or 0) <= _LAST_PORT
