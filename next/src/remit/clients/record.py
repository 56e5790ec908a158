"""The record of an install: what Remit wrote into a client's files, and how installed processes run.

A repository can set variables for the servers and hooks of a client. So `remit install` records them, and an
installed process takes them from its record. That is the first import of a hook, so this module loads little.
The record holds only the replaced parts of a file: it copies no secrets.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, cast

from remit.errors import FileChangeError, InstallRecordError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.clients.reader import ClientReader, EditsOf
    from remit.decision import Project
    from remit.files import EditedFile, Machine

VERSION = 2
OPTION = "--install"
CLAUDE_CODE = "claude-code"  # the client whose settings in a project hold copies of rules
LIMIT = 16 * 2**20  # bytes of a record

_HOMES = ("HOME", "USERPROFILE")
_PLATFORM = (*_HOMES, "XDG_DATA_HOME", "XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA")
_NETWORK = (  # variables that say who reads Remit's own connections
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "OPENSSL_CONF", "OPENSSL_MODULES"),
    *("LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "RESOLV_HOST_CONF"),
    *("KRB5_CONFIG", "KRB5CCNAME", "KRB5_KTNAME"),
)
_SEARCH = ("REMIT_EMBEDDINGS", "REMIT_EMBEDDINGS_MODEL", "REMIT_EMBEDDINGS_KEY_FILE", "REMIT_FUSION")
_UNRECORDED = ("OPENCODE_CONFIG_CONTENT", *_HOMES)  # may contain secrets, or is recorded apart
_KEY = "REMIT_EMBEDDINGS_KEY"  # a secret: only the file that holds it is recorded
_DEPTH = "REMIT_DEPTH"  # marks what a gateway starts


class InstallLevel(StrEnum):
    """How much of Remit is in a client."""

    CONTEXT = "context"  # the section at session start, and the count of uses
    HOOKS = "hooks"  # rules hold in the client, which starts its servers itself
    FULL = "full"  # and the gateway starts the servers


class RecordedEnvironment(NamedTuple):
    """What an installed process takes from its record instead of its environment."""

    home: str | None = None  # None: the home of the account that runs the process
    data: str | None = None  # Remit's data directory; None: the usual one below the home
    configuration: str | None = None  # the user's `remit.toml`; None: the usual one below the home
    variables: Mapping[str, str] = {}
    path: str | None = None  # `PATH`, used only where a repository sets another one
    drops: Sequence[str] = ()  # variables that it ignores, in upper case; empty in an old record

    def apply(self, environment: MutableMapping[str, str], platform: str = sys.platform) -> None:
        """Replace all variables that locate files or connections."""
        home = self.home or account_home(environment)
        drops = self.drops or fixed_variables()
        for name in [name for name in environment if _is_dropped(name.upper(), drops)]:
            del environment[name]
        environment.update(self.variables)
        environment["USERPROFILE" if platform == "win32" else "HOME"] = home
        if self.data is not None:
            environment["REMIT_HOME"] = self.data
        if self.configuration is not None:
            environment["REMIT_CONFIG"] = self.configuration


def _is_dropped(name: str, drops: Sequence[str]) -> bool:
    return name in drops or (name.startswith("REMIT_") and name != _DEPTH)


def fixed_variables() -> list[str]:
    """List the variables that locate files of Remit or of a client, or say what counts in them."""
    from remit.clients.table import CLIENTS

    locating = {name for client in CLIENTS.values() for name in client.locating}
    return sorted({name.upper() for name in (*_PLATFORM, *_NETWORK, *locating)})


def environment_of(
    home: str, data: str, configuration: str, variables: Mapping[str, str]
) -> RecordedEnvironment:
    """Take the environment of the person who installs.

    A value with a password, such as that of a proxy, is not recorded.
    """
    fixed = fixed_variables()
    kept = {
        name: value
        for name, value in variables.items()
        if value and (name.upper() in fixed or name in _SEARCH)
        if name not in _UNRECORDED and not _has_password(value)
    }
    home, data, configuration = map(os.path.abspath, (home, data, configuration))
    return RecordedEnvironment(home, data, configuration, kept, variables.get("PATH"), fixed)


def managed_environment(variables: Mapping[str, str]) -> RecordedEnvironment:
    """Make the environment of an administrator's install: only proxies and certificates are recorded."""
    kept = {
        name: value
        for name, value in variables.items()
        if value and name.upper() in _NETWORK and not _has_password(value)
    }
    return RecordedEnvironment(variables=kept, drops=fixed_variables())


def unrecorded(variables: Mapping[str, str]) -> list[str]:
    """List the variables with a secret, which installed processes will not have."""
    secrets = [name for name, value in variables.items() if name.upper() in _NETWORK and _has_password(value)]
    has_key = variables.get(_KEY) and not variables.get(f"{_KEY}_FILE")
    return sorted([*secrets, *([_KEY] if has_key else [])])


def _has_password(value: str) -> bool:
    return "@" in value.partition("://")[2].partition("/")[0]


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
        with open(path, "rb") as file:
            content = json.loads(file.read(LIMIT))
        return _environment(content["ground"])
    except FileNotFoundError:
        raise InstallRecordError(path, "does not exist") from None
    except OSError as error:
        raise InstallRecordError(path, f"cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InstallRecordError(path, "is damaged") from None


def _environment(content: object) -> RecordedEnvironment:
    if not isinstance(content, dict):
        raise ValueError("no environment")
    fields = cast("dict[str, Any]", content)
    paths = [fields.get(name) for name in ("home", "data", "configuration")]
    if not all(path is None or (isinstance(path, str) and os.path.isabs(path)) for path in paths):
        raise ValueError("not absolute paths")
    variables, path, drops = fields.get("variables", {}), fields.get("path"), fields.get("drops", ())
    if not isinstance(variables, dict) or not isinstance(drops, list | tuple):
        raise ValueError("not variables")
    kept = {str(name): str(value) for name, value in cast("dict[object, object]", variables).items()}
    dropped = tuple(map(str, cast("list[object]", drops)))
    home, data, configuration = cast("list[str | None]", paths)
    return RecordedEnvironment(
        home, data, configuration, kept, path if isinstance(path, str) else None, dropped
    )


class GatewayEntry(NamedTuple):
    """The entry that starts our gateway: its file and its command line."""

    source: str
    words: tuple[str, ...]


class InstallRecord(NamedTuple):
    """The record of an install in one client, or of the rules in one project's settings of it."""

    client: str
    at: int
    environment: RecordedEnvironment = RecordedEnvironment()
    files: "Sequence[EditedFile]" = ()
    level: InstallLevel = InstallLevel.FULL

    def with_file(self, path: str, edited: "EditedFile | None") -> "InstallRecord":
        """Return the record with another state of a file; None: nothing of ours is in it."""
        if edited is None:
            return self._replace(files=tuple(file for file in self.files if file.path != path))
        if self.file(path) is None:
            return self._replace(files=(*self.files, edited))
        return self._replace(files=tuple(edited if file.path == path else file for file in self.files))

    def file(self, path: str) -> "EditedFile | None":
        """Find the record of a file."""
        return next((file for file in self.files if file.path == path), None)

    @property
    def gateway(self) -> GatewayEntry | None:
        """The entry that starts our gateway."""
        for file in self.files:
            for key in file.keys:
                value: object = key.value
                if key.path[-1] == "remit" and isinstance(value, dict):
                    return GatewayEntry(file.path, tuple(entry_words(cast("dict[str, Any]", value))))
        return None


def entry_words(entry: Mapping[str, Any]) -> list[str]:
    """Return the command line of a server's entry: a program and its arguments, or one list of both."""
    command, args = entry.get("command", ""), entry.get("args", ())
    words = cast("list[object]", command) if isinstance(command, list) else [command]
    return [*map(str, words), *map(str, cast("list[object]", args) if isinstance(args, list) else ())]


def write_record(record: InstallRecord) -> str:
    """Write a record."""
    from dataclasses import asdict

    names = {"is_new": "new", "is_item": "item"}

    def written(values: Mapping[str, Any]) -> dict[str, Any]:
        return {names.get(name, name): value for name, value in values.items()}

    files = [
        {**written(asdict(file)), "keys": [written(asdict(key)) for key in file.keys]}
        for file in record.files
    ]
    ground = {**record.environment._asdict(), "variables": dict(record.environment.variables)}
    head = {"version": VERSION, "client": record.client, "level": record.level, "at": record.at}
    return json.dumps({**head, "ground": ground, "files": files}, indent=2) + "\n"


def parse_record(text: str) -> InstallRecord:
    """Read a record.

    Raises:
        ValueError: the text is not a record, or a newer version of Remit wrote it.
    """
    try:
        content = json.loads(text)
        if content["version"] != VERSION:
            raise ValueError("a newer Remit wrote it")
        return InstallRecord(
            client=str(content["client"]),
            at=int(content["at"]),
            environment=_environment(content["ground"]),
            files=tuple(map(_edited_file, content["files"])),
            level=InstallLevel(content.get("level", "full")),
        )
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError("not a record of an install") from error


def _edited_file(content: Mapping[str, Any]) -> "EditedFile":
    from remit.files import EditedFile, Format, Splice, WrittenKey

    return EditedFile(
        path=str(content["path"]),
        format=Format(content["format"]),
        is_new=bool(content["new"]),
        made=tuple(map(str, content.get("made", ()))),
        before=str(content["before"]),
        after=str(content["after"]),
        steps=[[Splice(int(at), str(out), str(into)) for at, out, into in step] for step in content["steps"]],
        keys=[
            WrittenKey(
                path=tuple(map(str, key["path"])),
                value=key["value"],
                is_item=bool(key["item"]),
                earlier=None if key["earlier"] is None else str(key["earlier"]),
                known=int(key["known"]),
                switches=None if key.get("switches") is None else str(key["switches"]),
            )
            for key in content["keys"]
        ],
    )


def records_folder(machine: "Machine", *, is_managed: bool = False) -> str:
    """Return the directory of the user's records, or of the administrator's, which all users read."""
    from remit.config import data_directory, managed_path

    base = os.path.dirname(managed_path(machine)) if is_managed else data_directory(machine)
    return os.path.join(base, "installs")


def record_path(
    client: str, machine: "Machine", *, is_managed: bool = False, project: "Project | None" = None
) -> str:
    """Return the path of a client's record, or of that of a project's settings."""
    folder = records_folder(machine, is_managed=is_managed)
    return os.path.join(folder, f"{client}.json" if project is None else f"projects/{project.hash}.json")


def load_record(path: str) -> InstallRecord | None:
    """Read a record; None without one.

    Raises:
        FileChangeError: the record cannot be read.
    """
    from remit.files import read_exactly

    text = read_exactly(path)
    try:
        return None if text is None else parse_record(text)
    except ValueError as error:
        raise FileChangeError(
            f"{path}: {error}", hint="move it away; `remit uninstall` then removes what it recognizes"
        ) from None


def save_record(path: str, record: InstallRecord | None, *, is_public: bool = False) -> None:
    """Write a record, or delete it with the directories that it leaves empty."""
    from remit.files import change_file, remove_empty

    change_file(path, lambda _: None if record is None else write_record(record), is_public=is_public)
    if record is None:
        folder = os.path.dirname(path)
        remove_empty([folder, os.path.dirname(folder)])


def project_records(machine: "Machine") -> list[str]:
    """List the paths of the records of projects' settings."""
    folder = os.path.join(records_folder(machine), "projects")
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")]
    except OSError:
        return []


def read_edits(reader: "ClientReader") -> "EditsOf":
    """Read what Remit wrote into the files that a reader sees, and note damaged records."""
    project = reader.workspace.project
    paths = [
        record_path(reader.client, reader.machine),
        record_path(reader.client, reader.machine, is_managed=True),
        *(
            [record_path(reader.client, reader.machine, project=project)]
            if reader.client == CLAUDE_CODE
            else ()
        ),
    ]
    edited = {file.path: file for record in _readable(paths, reader) for file in record.files}
    return edited.get


def _readable(paths: Iterable[str], reader: "ClientReader") -> "Iterator[InstallRecord]":
    from remit.files import ANYWHERE, FileError, read_text

    for path in paths:
        try:
            if reader.look_at(path) and (text := read_text(path, limit=LIMIT, within=ANYWHERE)) is not None:
                yield parse_record(text)
        except FileError as error:
            reader.note(path, error.reason, error.place)
        except ValueError as error:
            reader.note(path, str(error))


def gateway_entry(client: str, machine: "Machine") -> GatewayEntry | None:
    """Return the entry that an install put into a client's files, the user's or the administrator's."""
    for is_managed in (False, True):
        try:
            record = load_record(record_path(client, machine, is_managed=is_managed))
        except FileChangeError:
            continue
        if record is not None and record.gateway is not None:
            return record.gateway
    return None
