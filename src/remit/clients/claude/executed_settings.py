"""The settings of a repository that make Claude Code itself run code: hooks, commands and variables."""

import os
import re
from collections.abc import Iterator

from remit.clients.parsing.client_reader import ClientReader
from remit.clients.parsing.entry_fields import EntryFields
from remit.decision.settings_rules import ExecutedSetting
from remit.decision.tool_names import storable
from remit.files.git_index import index_path, is_tracked
from remit.text.json_values import as_list, as_object
from remit.text.redaction import HIDDEN
from remit.text.secrets import may_be_secret

PERSONAL = "settings.local.json"
_COMMANDS = (  # settings whose text is a command
    *("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper"),
    "proxyAuthHelper",
)
_WITH_COMMAND = ("statusLine", "subagentStatusLine", "fileSuggestion")  # settings with a `command`
# Variables by which the client, its shell, git or a common interpreter runs other code, or by which another
# host reads what the client sends. `steers_code` covers more: for a server, a false alarm costs nothing.
_RUNS_CODE = r"""(?xi)
    PATH | LD_.* | DYLD_.* | BASH_ENV | BASH_FUNC.* | ENV | ZDOTDIR | SHELL | PROMPT_COMMAND | PS4
  | NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED|REPL_EXTERNAL_MODULE) | BUN_(OPTIONS|CONFIG.*)
  | NPM_CONFIG_.* | PYTHON(PATH|HOME|STARTUP|INSPECT|BREAKPOINT|USERBASE|EXECUTABLE|PLATLIBDIR)
  | PERL5?(LIB|OPT|DB) | RUBY(OPT|LIB) | LUA_(INIT|PATH|CPATH).* | PHPRC | PHP_INI_SCAN_DIR | CLASSPATH
  | (_JAVA|JDK_JAVA|JAVA_TOOL)_OPTIONS | DOTNET_STARTUP_HOOKS | CORECLR_.* | RUSTC(_WORKSPACE)?_WRAPPER
  | GIT_(?!(AUTHOR|COMMITTER)_|TERMINAL_PROMPT$|PS1_).* | (SSH|SUDO)_ASKPASS | (MAN)?PAGER | EDITOR | VISUAL
  | BROWSER | LESSOPEN | LESSCLOSE | CC | CXX | MAKEFLAGS | DOCKER_(HOST|CONFIG) | KUBECONFIG
  | (UV|PIP)_(EXTRA_)?(DEFAULT_)?INDEX(_URL)? | (HTTPS?|ALL)_PROXY | SSL_CERT_(FILE|DIR)
  | ANTHROPIC_(CUSTOM_HEADERS|(.*_)?BASE_URL) | CLAUDE_CODE_SHELL(_PREFIX)?
"""
_MAX_HOOKS = 100
_MAX_WORDS = 12
_MAX_WORD = 100  # characters


def executed_settings(settings: EntryFields, source: str) -> list[ExecutedSetting]:
    """List the settings of a file that run code."""
    content = dict(settings.items())
    found = {
        "hooks": _hooks(content.get("hooks")),
        "": _helpers(content),
        "env": _variables(content.get("env")),
    }
    return [
        ExecutedSetting(source, storable(key), storable(text), section)
        for section, settings in found.items()
        for key, text in settings
    ]


def _hooks(hooks: object) -> Iterator[tuple[str, str]]:
    handlers = [
        (event, handler)
        for event, groups in as_object(hooks).items()
        for group in as_list(groups)
        for handler in as_list(as_object(group).get("hooks"))
    ]
    for event, handler in handlers[:_MAX_HOOKS]:
        fields = as_object(handler)
        words = [fields.get("command"), *as_list(fields.get("args"))]
        if isinstance(words[0], str):
            yield event, _shown([word for word in words if isinstance(word, str)])


def _helpers(content: dict[str, object]) -> Iterator[tuple[str, str]]:
    commands = {name: content.get(name) for name in _COMMANDS}
    commands |= {name: as_object(content.get(name)).get("command") for name in _WITH_COMMAND}
    yield from ((name, _shown([text])) for name, text in commands.items() if isinstance(text, str))


def _variables(variables: object) -> Iterator[tuple[str, str]]:
    yield from ((name, "") for name in as_object(variables) if re.fullmatch(_RUNS_CODE, name))


def _shown(command: list[str]) -> str:
    """Write a command without what may be a secret."""
    words = [word for part in command for word in part[: _MAX_WORD * _MAX_WORDS].split()]
    shown = [HIDDEN if may_be_secret(word) else word[:_MAX_WORD] for word in words[:_MAX_WORDS]]
    return " ".join([*shown, *(("…",) if len(words) > _MAX_WORDS else ())])


def forget_personal(reader: ClientReader) -> None:
    """Drop what the user wrote: files of the home, and personal settings that git does not track."""
    for part in reader.parsed:
        if part.executed and (not reader.within(part.source) or _is_personal(part.source, reader)):
            part.executed.clear()


def _is_personal(path: str, reader: ClientReader) -> bool:
    index = index_path(path) if os.path.basename(path) == PERSONAL else None
    return index is not None and reader.look_at(index) and not is_tracked(path)
