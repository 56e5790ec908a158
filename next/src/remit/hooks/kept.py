"""The program of a hook: says nothing, quickly, where the last decision about the same call still holds.

The script `remit-hook` starts it by its path, with `-I -S`. SQLite reads the event and the install record, so
nothing else is loaded. Whatever is not certain goes on as `remit hook`, in this process.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MAX_BYTES = 64 * 2**20  # of an event
OPTION = "--install"
CLIENT = "claude-code"
HEADLESS = "[true, []]"  # the launch flags of a client without a terminal, as they are stored
# What starts or reads something else is decided each time: that is in the arguments.
NEVER_KEPT = ("Skill", "SlashCommand", "Agent", "Task", "ReadMcpResourceTool", "mcp__remit__call_tool")

_EVENT = """
select :event ->> '$.hook_event_name', :event ->> '$.session_id', :event ->> '$.cwd',
    :event ->> '$.agent_id', :event ->> '$.tool_name',
    ifnull(:event ->> '$.mcp_server.name', ''), ifnull(:event ->> '$.mcp_server.source', ''),
    ifnull(:event ->> '$.agent_type', ''), ifnull(:event ->> '$.permission_mode', '')
"""
_RECORD = """
select :record ->> '$.ground.home', :record ->> '$.ground.data',
    (select json_group_array(value) from json_each(:record, '$.ground.drops')),
    (select json_group_object(key, value) from json_each(:record, '$.ground.variables'))
"""
_KEPT = """
select project_hash from kept_answers
where workspace = :workspace and client = :client and launch = :launch and tool = :tool and server = :server
    and source = :source and subject = '' and agent = :agent and mode = :mode and version = :version
    and revision = (select number from revisions where part = 'catalog')
"""
_STAMPS = """
select i.key, i.value,
    iif(substr(i.key, 1, 1) <> '$', null, ifnull(:variables ->> ('$."' || substr(i.key, 2) || '"'),
        iif(exists (select 1 from json_each(:drops) where value = upper(substr(i.key, 2))), '', null)))
from (
    select inputs from views
    where client = :client and workspace = :workspace and flags = :launch and project_hash = :project
    union all
    select inputs from configurations where workspace = :workspace and project_hash = :project
) v, json_each(v.inputs) i
"""


def main() -> None:
    """Run a hook."""
    words, data = sys.argv[1:], read_all()
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    try:
        import apsw  # pyright: ignore[reportUnusedImport]  # noqa: F401
    except ImportError:  # the packages lie elsewhere
        import site

        site.main()
    if is_kept(words, data):
        os._exit(0)  # a regular exit takes longer
    # By name: nothing in this package may import what starts it.
    __import__("remit.__main__", fromlist=["hook"]).hook(words, data)


def read_all() -> bytes:
    """Read the event on standard input, at most one byte more than it may have."""
    data = b""
    while (chunk := os.read(0, 1 << 20)) and len(data) <= MAX_BYTES:
        data += chunk
    return data


def is_kept(words: "Sequence[str]", data: bytes) -> bool:
    """Return whether nothing was to say about this call, and nothing has changed since."""
    if b'"PreToolUse"' not in data or OPTION not in words[:-1] or len(data) > MAX_BYTES:
        return False
    try:
        return _is_kept(words[words.index(OPTION) + 1], data)
    except Exception:  # whatever it is, the long way says so
        return False


def _is_kept(record: str, data: bytes) -> bool:
    import apsw

    with open(record, encoding="utf-8") as file:
        written = file.read()
    reader: Any = apsw.Connection(":memory:")  # the driver is only partly typed
    event = reader.execute(_EVENT, {"event": data.decode()}).fetchone()
    home, folder, drops, variables = reader.execute(_RECORD, {"record": written}).fetchone()
    name, session, cwd, agent_id, tool, server, source, agent, mode = event
    if name != "PreToolUse" or tool in NEVER_KEPT or drops == "[]" or (agent_id is not None and not agent):
        return False
    home = home or account_home()
    path = os.path.join(folder or usual_data(home), "remit.sqlite")
    os.stat(path)
    store: Any = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    here = {"client": CLIENT, "workspace": directory(session, cwd), "launch": launch()}
    asked = {"tool": tool, "server": server, "source": source, "agent": agent, "mode": mode}
    known = store.execute(_KEPT, {**here, **asked, "version": version(here["workspace"])}).fetchone()
    if known is None:
        return False
    recorded = {"project": known[0], "drops": drops, "variables": variables}
    stamps = store.execute(_STAMPS, {**here, **recorded}).fetchall()
    return bool(stamps) and all(_is_unchanged(*stamp, home) for stamp in stamps)  # pyright: ignore[reportUnknownArgumentType, reportCallIssue] - rows of three


def directory(session: str | None, cwd: str | None) -> str:
    """Return where the client was launched, or else where the event happened."""
    launched = os.environ.get("CLAUDE_PROJECT_DIR")
    is_this_session = os.environ.get("CLAUDE_CODE_SESSION_ID", session) == session
    return os.path.realpath(launched if launched and is_this_session else cwd or os.curdir)


def launch() -> str:
    """Return the launch flags of the client, as they are stored."""
    return "" if os.environ.get("CLAUDE_CODE_ENTRYPOINT", "cli") == "cli" else HEADLESS


def version(workspace: str) -> str:
    """Return what must be as it was besides the files: this version of Remit, and the checkout."""
    from remit import __version__

    path = workspace
    while not os.access(os.path.join(path, ".git"), os.F_OK):
        path, below = os.path.dirname(path), path
        if path == below:
            return __version__
    return f"{__version__} {path}"


def account_home() -> str:
    """Return the home directory of the account, whatever `HOME` says."""
    import pwd

    return pwd.getpwuid(os.getuid()).pw_dir


def usual_data(home: str) -> str:
    """Return the usual directory of Remit's data."""
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "remit")
    return os.path.join(home, ".local", "share", "remit")


def _is_unchanged(name: str, mark: str, recorded: str | None, home: str) -> bool:
    """Compare one input as `Fingerprints` does; of a variable, `recorded` counts before the environment."""
    if name == "~":
        return mark == home
    if name[:1] == "$":
        value = os.environ.get(name[1:], "") if recorded is None else recorded
        return mark == _digest(value)
    if not mark:
        return not os.access(name, os.F_OK)
    try:
        status = os.stat(name)
    except OSError:
        return False
    return mark == f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _digest(value: str) -> str:
    if not value:
        return ""
    from hashlib import sha256

    return sha256(value.encode("utf-8", "replace")).hexdigest()[:16]


if __name__ == "__main__":
    main()
