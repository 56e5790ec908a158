"""The environment of a server: what its client would give it, without what is others' own business."""

import re
from collections.abc import Mapping

from remit.upstream.upstream_model import Upstream

DEPTH = "REMIT_DEPTH"  # under which Remit does not serve: it was started by itself

# What a client says to its own children, and Remit's settings, among them a key; but for where its data is,
# for a server that asks Remit itself.
_INTERNAL = re.compile(
    r"CLAUDECODE|CLAUDE_CODE_.*|CLAUDE_(PID|EFFORT|ENV_FILE|PROJECT_DIR|PLUGIN_ROOT|PLUGIN_DATA)"
    r"|REMIT_(?!HOME$|CONFIG$).*"
)
# Without these few hardly a program runs.
_NEEDED = frozenset(
    (
        *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES"),
        *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
    )
)


def environment(ready: Upstream, variables: Mapping[str, str]) -> dict[str, str]:
    """Make the environment of a server whose launch is expanded."""
    launch = ready.launch
    own = {"CLAUDE_PROJECT_DIR": ready.directory} if ready.client == "claude-code" else {}
    place = {"PWD": ready.place}
    return {**inherited(ready, variables), **place, **own, **launch.variables, **launch.env, DEPTH: "1"}


def inherited(upstream: Upstream, variables: Mapping[str, str]) -> dict[str, str]:
    """Choose what a server gets of the user's own variables."""
    if upstream.inherits is True:
        return {name: value for name, value in variables.items() if not _INTERNAL.fullmatch(name)}
    named = upstream.inherits or ()
    return {name: value for name, value in variables.items() if name in named or name.upper() in _NEEDED}
