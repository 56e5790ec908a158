"""The environment variables of a server: as its client would set them, without internal ones."""

import re
from collections.abc import Mapping

from remit.decision.declared_launch import Launch
from remit.settings import DEPTH, NESTED
from remit.text.redaction import FOREIGN
from remit.upstream.upstream_model import Upstream

# Variables that clients set for their own children, and Remit's settings, which include a key. The location
# of Remit's data stays, for servers that use Remit themselves.
_INTERNAL = re.compile(
    r"CLAUDECODE|CLAUDE_CODE_.*|CLAUDE_(PID|EFFORT|ENV_FILE|PROJECT_DIR|PLUGIN_ROOT|PLUGIN_DATA)"
    r"|REMIT_(?!HOME$|CONFIG$).*"
)
# Hardly any program runs without these.
_NEEDED = frozenset(
    (
        *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"),
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES"),
        *("SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
        # certificates of the user's network
        *("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"),
    )
)


def users_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Leave out the variables that a repository set, for servers of the user's own.

    One of them may name a host, such as `GITHUB_API_URL`, to which a server would send the user's token.
    """
    foreign = frozenset(variables.get(FOREIGN, "").split(","))
    return {name: value for name, value in variables.items() if name not in foreign}


def environment(
    upstream: Upstream, launch: Launch, *, directory: str, place: str, variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a server whose launch is expanded, in a project and a working directory."""
    own = {"CLAUDE_PROJECT_DIR": directory} if upstream.client == "claude-code" else {}
    given = {"PWD": place, **own, **launch.variables, **launch.env, DEPTH: variables.get(DEPTH) or NESTED}
    return {**inherited(upstream, variables), **given}


def inherited(upstream: Upstream, variables: Mapping[str, str]) -> dict[str, str]:
    """Choose the user's variables that a server inherits."""
    if upstream.inherits is True:
        return {name: value for name, value in variables.items() if not _INTERNAL.fullmatch(name)}
    named = upstream.inherits or ()
    return {name: value for name, value in variables.items() if name in named or name.upper() in _NEEDED}
