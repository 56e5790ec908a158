"""Every key of a configuration file: its type, its meaning, and what a project's file may do with it.

Only a changed file is checked, so nothing else loads this.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from remit.config.detectors import GIT_FACTS, OPTIONS, comparison, is_plain_path, url_problem
from remit.config.fields import (
    FLAG,
    ConfigKey,
    Either,
    Merge,
    Mistake,
    ProjectRight,
    Table,
    Tables,
    Value,
    choice,
    listed,
    seconds,
    text,
    texts,
    whole,
)
from remit.decision import LEVELS, Mode
from remit.secrets import may_be_secret, names_a_secret
from remit.text import as_list, as_object

STRATEGIES = ("auto", "flat", "state", "namespace", "rooms", "manifest", "search")
CHANGES = ("hold", "note")
KINDS = ("capability", "location", "entity", "workflow")
EMBEDDINGS = ("static", "onnx", "none")

_NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*(\.[a-z0-9]+([-_][a-z0-9]+)*)*")
_LONGEST_NAME = 100
_LARGEST_BUDGET = 1_000_000
_LEAST_RESULT = 500  # tokens; fewer have no room for the shape of a result
_MOST_CONTEXT = 10_000
_DAY = 86_400.0
_DAYS = re.compile(r"[1-9]\d{0,3}d")
_NEVER, _NARROW, _ASK = ProjectRight.NOTHING, ProjectRight.NARROW, ProjectRight.ASK
_ADD, _LEAST = Merge.ADD, Merge.LEAST
_ENDINGS = (".json", ".toml", ".yaml", ".yml")


def is_state_name(name: str) -> bool:
    """Return whether a state may have this name."""
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def _state_name(name: str) -> str | tuple[str, str] | None:
    if name == "location":
        return "this name is reserved for the user's location"
    if is_state_name(name):
        return None
    return "not the name of a state", "use lowercase letters and digits, joined by `-`, `_` or `.`"


def _path(path: str) -> tuple[str, str] | None:
    hint = "write it relative to the file's directory, with `/` and without `..`"
    return None if is_plain_path(path) else ("a path is invalid or leads out of the project", hint)


def _pattern(path: str) -> tuple[str, str] | None:
    if all("**" not in part or part == "**" for part in path.split("/")):
        return _path(path)
    return "`**` must be a whole part of the path", "write `*` inside a name"


def _value_path(written: str) -> str | tuple[str, str] | None:
    path, sign, keys = written.rpartition("#")
    if not sign or not keys:
        return "expected a file and the keys of a value", 'write it as in `"package.json#scripts.test"`'
    if not path.endswith(_ENDINGS):
        return "not the name of a JSON, TOML or YAML file", f"it ends in {', '.join(_ENDINGS)}"
    return _path(path)


def _entities(written: str) -> str | tuple[str, str] | None:
    return _value_path(written) if "#" in written else _pattern(written)


def _count(written: str | int) -> tuple[str, str] | None:
    hint = 'write it as in `count = ">= 3"`'
    return None if comparison(written) else ("expected a number, or a comparison with one", hint)


def _no_secret(word: str) -> str | None:
    return "this may be a secret; keep secrets out of this file" if may_be_secret(word) else None


def _showable(name: str) -> str | None:
    return f"`{name}` sounds like a secret, and conditions show the values" if names_a_secret(name) else None


def _absolute(path: str) -> tuple[str, str] | None:
    return None if os.path.isabs(path) else ("expected an absolute path", "write all of it")


def _embeddings(written: str) -> str | tuple[str, str] | None:
    if written in EMBEDDINGS:
        return None
    match = re.fullmatch(r"(?ai)https?://(?:[\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?(?:/[!\"$-~]*)?", written)
    hint = f"use {listed(EMBEDDINGS)}, or a URL without user, password and fragment"
    return None if match and int(match[1] or 0) < 2**16 else ("neither a model nor a usable URL", hint)


_BUDGET = whole(0, _LARGEST_BUDGET)
_RESULT_BUDGET = Value(
    f"a whole number from {_LEAST_RESULT} to {_LARGEST_BUDGET:,}, or 0 for no limit",
    (int,),
    lambda value: (
        None if value == 0 or _LEAST_RESULT <= value <= _LARGEST_BUDGET else "out of range; 0 means no limit"
    ),
)
_PATTERNS = texts("a list of patterns of tools", example='write it as in `["mcp__git__*"]`')
_EVENT = Either((text("a pattern of tools"), _PATTERNS))
_FILES = Either((text("a path", _path), texts("a list of paths", _path, least=1, most=20)))

_DETECTORS = (
    ConfigKey("file", _FILES, "one of these is a file, or with a trailing `/` a directory"),
    ConfigKey(
        "glob", text("a pattern of paths", _pattern), "a name matches; `**` is any number of directories"
    ),
    ConfigKey("git", choice(GIT_FACTS), "git says so; `dirty` and `clean` need trust", project=_ASK),
    ConfigKey("env", text("the name of a variable"), "the variable is set and not empty"),
    ConfigKey(
        "value", text("a file and keys", _value_path), "the file has a value there: `package.json#main`"
    ),
    ConfigKey(
        "entities", text("a pattern, or a file and keys", _entities), "there are files, or items of a list"
    ),
    ConfigKey(
        "command",
        texts(
            "a list: the program and its arguments",
            _no_secret,
            least=1,
            most=50,
            example='it runs without a shell: `["gh", "auth", "status"]`',
        ),
        "it exits with 0; needs trust, in your own file too",
        project=_ASK,
    ),
    ConfigKey("http", text("a URL", url_problem), "the status is one of the 200s", project=_ASK),
    ConfigKey(
        "push",
        Value("true", (bool,), lambda value: None if value else "expected true"),
        "the host application reports it",
    ),
)


def _state(table: Mapping[str, Any]) -> Iterator[Mistake]:
    detectors = [key for key in table if key in OPTIONS]
    events = [key for key in ("on", "off") if key in table]
    is_workflow = table.get("kind", "workflow" if events else "capability") == "workflow"
    if len(detectors) > 1:
        message = f"a state has one detector, not {len(detectors)}: {listed(detectors)}"
        yield Mistake((detectors[1],), message)
        return
    if is_workflow and detectors:
        message = "a workflow state is set by commands and tools, and has no detector"
        yield Mistake((detectors[0],), message)
    if events and not is_workflow:
        yield Mistake((events[0],), "only a state of the kind `workflow` follows what tools do")
    if table.get("agents") and not is_workflow and "push" not in table:
        yield Mistake(("agents",), "only workflow states and pushed states are set by commands")
    known = (*OPTIONS[detectors[0]], "else") if detectors else ()
    for option in ("count", "equals", "timeout", "lifetime", "else"):
        if option in table and option not in known:
            takers = [kind for kind, options in OPTIONS.items() if option in (*options, "else")]
            yield Mistake((option,), f"`{option}` belongs to {listed(takers)}")
    equals = table.get("equals")
    if isinstance(equals, str) and may_be_secret(equals, str(table.get("env", ""))):
        yield Mistake(("equals",), "this may be a secret; keep secrets out of this file")
    if equals is not None and "git" in table and (table["git"] != "branch" or not isinstance(equals, str)):
        yield Mistake(("equals",), 'expected a pattern of names, next to `git = "branch"`')


def _implied(name: str) -> str | None:
    return None if is_state_name(name) else f"`{name}` is not the name of a state"


_STATES = Table(
    (
        ConfigKey("description", text(), "what it means, for people"),
        ConfigKey("kind", choice(KINDS), "what it is about", "`capability`; `workflow` with `on` or `off`"),
        ConfigKey(
            "implies", texts("a list of states", _implied), "states that hold if this one does", project=_ASK
        ),
        ConfigKey("on", _EVENT, "tools whose success sets a workflow state"),
        ConfigKey("off", _EVENT, "tools whose success clears it"),
        ConfigKey("agents", FLAG, "whether agents may set, clear or push it with `remit states`", "false"),
        *_DETECTORS,
        ConfigKey(
            "count",
            Value("a number or a comparison", (int, str), _count),
            "how many there must be",
            '`">= 1"`',
        ),
        ConfigKey("timeout", seconds(60), "how long detecting may take", "2 s"),
        ConfigKey(
            "lifetime",
            seconds(_DAY),
            "how long a result is kept",
            "2 s; 30 s for `command`, `http`; 60 s for `push`",
        ),
        ConfigKey(
            "else", FLAG, "the value if it cannot be detected: a server that does not answer", "unknown"
        ),
        ConfigKey(
            "equals", Value("a single value", (str, int, float, bool)), "the expected value", "any value"
        ),
    ),
    rules=_state,
    gone={
        "directory": 'write `file = "NAME/"`, with a slash at the end',
        "exit": "a command holds if it exits with 0; write a command that does",
        "status": "a status of the 200s holds; for others, write a `command`",
        "requiredStates": "write `implies` for states that hold with it",
    },
)

_SCOPE = (
    ConfigKey("all", texts("a list of states"), "all of these hold"),
    ConfigKey("any", texts("a list of states"), "one of these holds"),
    ConfigKey("none", texts("a list of states"), "none of these holds"),
)
_LOCATION = tuple(
    ConfigKey(name, texts("a list of patterns"), meaning)
    for name, meaning in (
        ("pages", "one of these pages is shown"),
        ("routes", "one of these routes is shown"),
        ("components", "all of these components are shown"),
        ("elements", "all of these elements are shown"),
    )
)
_LATER = "it is reserved; leave it out"
_TOOLS = Table(
    (
        ConfigKey(
            "states",
            Either((texts("a list of states"), Table(_SCOPE, "a table of `all`, `any`, `none`"))),
            "states that must hold",
            aliases=("requiredStates", "required_states", "requires"),
        ),
        ConfigKey("when", text("a condition"), "a condition that must hold"),
        ConfigKey(
            "location",
            Table(_LOCATION, "a table of `pages`, `routes`, `components`, `elements`"),
            "where in an application it belongs",
            aliases=("locationScope",),
        ),
        ConfigKey("namespace", text(), "the group it is presented in"),
        ConfigKey(
            "danger",
            choice(LEVELS),
            "how much harm it may do",
            project=_ASK,
            aliases=("dangerLevel", "danger_level"),
        ),
        ConfigKey(
            "approval",
            Either((FLAG, text("a condition"))),
            "whether a person must approve each call, or calls for which a condition holds",
            project=_ASK,
            aliases=("requiresApproval", "requires_approval"),
        ),
        ConfigKey(
            "ai_enabled",
            FLAG,
            "whether agents may use it; false in any file wins",
            "true",
            aliases=("aiEnabled", "enabled"),
        ),
    ),
    gone={
        "result_budget": "write it at the top of the file, for all tools",
        "description": _LATER,
        "fixed": _LATER,
        "rename": _LATER,
    },
)

_SANDBOX = Table(
    (
        ConfigKey("network", FLAG, "whether it may use the network", "false"),
        ConfigKey("read", texts("a list of paths"), "what it may read", '`["."]`, the project'),
        ConfigKey("write", texts("a list of paths"), "what it may change", "`[]`"),
    ),
    "a table of `network`, `read`, `write`",
    gone={"unix_sockets": "it reaches the sockets in what it may read; leave it out"},
)
_LISTS = (
    ConfigKey("allow", _PATTERNS, "the only tools that may be used; an empty list allows none", merge=_ADD),
    ConfigKey("block", _PATTERNS, "tools that may not be used", merge=_ADD),
)
_SERVERS = Table(
    (
        *_LISTS,
        ConfigKey(
            "trusted",
            FLAG,
            "whether its annotations may lower the danger of its tools",
            project=_NARROW,
            refused=(True,),
        ),
        ConfigKey("shared", FLAG, "whether all clients of the gateway share one session", project=_NEVER),
        ConfigKey(
            "inherit_env",
            Either((FLAG, texts("a list of variables"))),
            "which of your variables it gets: all, the necessary ones, or these as well",
            "true; false for a project's and for sandboxed servers",
            project=_NEVER,
        ),
        ConfigKey(
            "deadline",
            seconds(_DAY),
            "how long a call may take without an answer or progress",
            "600 s",
            project=_NEVER,
        ),
        ConfigKey(
            "wrap",
            texts("a list: a program and its arguments", _no_secret, least=1, most=50),
            "the program that starts it, before its own command",
            project=_NEVER,
        ),
        ConfigKey(
            "sandbox",
            Either((FLAG, _SANDBOX)),
            "what it may reach; `true` is the project, without network",
            "false",
            project=_NARROW,
            refused=(False,),
        ),
    ),
    gone={
        "prefix": "every tool has its server's name; leave it out",
        "sessions": "write `shared = true` or `shared = false`",
        "projects": "permissions hold for servers that you declared yourself; leave it out",
        "credentials": "it comes with `remit-team`",
        "result_budget": "write it at the top of the file, for all tools",
        "idle_timeout": _LATER,
    },
)
_PRESENTED = dict.fromkeys(("strategy", "token_budget"), "write it at the top of the file")
_TEAM = "it comes with `remit-team`"
TOP = Table(
    (
        ConfigKey(
            "strategy",
            choice(STRATEGIES),
            "how visible tools are listed",
            "`auto`",
            refused=("flat",),
            project=_NARROW,
        ),
        ConfigKey("token_budget", _BUDGET, "tokens that listed definitions may cost", "6,000"),
        ConfigKey("result_budget", _RESULT_BUDGET, "tokens that one result may have", "10,000"),
        ConfigKey("pinned", _PATTERNS, "tools that every strategy lists", merge=_ADD),
        ConfigKey(
            "mode",
            choice(Mode),
            "the default mode; an administrator's can only be narrowed",
            "`default`",
            project=_NEVER,
        ),
        ConfigKey(
            "ask_from",
            choice(LEVELS),
            "the danger from which calls need approval",
            "`critical`",
            merge=_LEAST,
        ),
        *_LISTS,
        ConfigKey(
            "env",
            texts("a list of variables", _showable),
            "variables that conditions may use, as `env.NAME`",
            project=_ASK,
            merge=_ADD,
        ),
        ConfigKey(
            "changes",
            choice(CHANGES),
            "whether changed definitions are held until you accept them, or noted",
            "`hold`",
            project=_NEVER,
        ),
        ConfigKey(
            "adopt",
            FLAG,
            "whether the gateway serves a server added to the client later at once",
            "false",
            project=_NEVER,
        ),
        ConfigKey(
            "context_budget",
            whole(0, _MOST_CONTEXT),
            "tokens that an agent reads when a session begins",
            "2,000",
            project=_NARROW,
        ),
        ConfigKey(
            "retention",
            Value(
                "a number of days such as `400d`",
                (str,),
                lambda value: None if _DAYS.fullmatch(value) else "expected a number of days such as `400d`",
            ),
            "how long calls and uses are kept",
            "`90d` for calls, `365d` for uses",
            project=_NEVER,
        ),
        ConfigKey(
            "filters",
            texts("a list of absolute paths", _absolute),
            "Python files with filters",
            project=_NEVER,
            merge=_ADD,
        ),
        ConfigKey(
            "embeddings",
            text("`static`, `onnx`, `none` or a URL", _embeddings),
            "the model that searches by meaning",
            "`static`",
            project=_NEVER,
        ),
        ConfigKey("embeddings_model", text(), "the model of an endpoint", project=_NEVER),
        ConfigKey(
            "embeddings_key_file",
            text("an absolute path", _absolute),
            "a private file with the key of the endpoint",
            project=_NEVER,
        ),
        ConfigKey(
            "memory",
            Table(
                (
                    ConfigKey(
                        "enabled",
                        FLAG,
                        "whether agents have a memory",
                        "false",
                        project=_NARROW,
                        refused=(True,),
                    ),
                ),
                gone=dict.fromkeys(("tools", "observe", "projects"), "leave it out"),
            ),
            "the memory of projects",
        ),
        ConfigKey(
            "states", Tables(_STATES, "a table for each state", _state_name), "facts about a workspace"
        ),
        ConfigKey(
            "tools",
            Tables(
                _TOOLS,
                "a table for each pattern",
                lambda name: None if name.strip() else ("the pattern is empty", "write `*` for all tools"),
            ),
            "rules for tools, by pattern",
        ),
        ConfigKey(
            "servers", Tables(_SERVERS, "a table for each server"), "rules for servers, by name or pattern"
        ),
        ConfigKey(
            "agents",
            Tables(Table(_LISTS, gone=_PRESENTED), "a table for each agent"),
            "rules for agents, by name or pattern",
        ),
        ConfigKey(
            "rooms",
            Tables(
                Table(
                    (
                        ConfigKey("description", text(), "what it is for"),
                        ConfigKey("tools", _PATTERNS, "what is in it"),
                    ),
                    gone=_PRESENTED,
                ),
                "a table for each room",
            ),
            "groups of tools for one kind of work",
        ),
        ConfigKey(
            "namespaces",
            Tables(
                Table((ConfigKey("description", text(), "what clients read about it"),)),
                "a table for each namespace",
            ),
            "groups in which tools are presented",
        ),
    ),
    gone={
        "promote": "a tool that was found and called is listed for the rest of the session; leave it out",
        "own_tools": 'write `block = ["mcp__remit__NAME"]` for those you do not want',
        "notifications": "switch them off in the settings of your desktop",
        "context": "write `context_budget = 2000` at the top of the file",
        "suggestions": "there are none; leave it out",
        "trust": "write `changes` at the top of the file",
        "directory": "write a state with `file`",
        "routes": "write `location` in the table of a tool",
        "store": _TEAM,
        "store_password_file": _TEAM,
        "store_admin": _TEAM,
        "store_admin_password_file": _TEAM,
        "store_key_file": _TEAM,
        "identity": _TEAM,
        "access": _TEAM,
        "limits": _TEAM,
    },
)
_FOR_TOOLS = ("states", "tools", "namespaces")


def check_content(
    content: object, *, is_projects: bool = False, extra_keys: Callable[[], Iterable[ConfigKey]] = tuple
) -> list[Mistake]:
    """List the mistakes in the content of one file, as far as they do not depend on other files."""
    top = TOP
    if isinstance(content, dict) and not {key.name for key in TOP.keys}.issuperset(content):  # pyright: ignore[reportUnknownArgumentType] - the names are checked next
        top = TOP._replace(keys=(*TOP.keys, *extra_keys()))
    mistakes = [*top.check(content, is_projects=is_projects)]
    if is_projects and not any(not mistake.is_ignored for mistake in mistakes):
        mistakes += _outside(content)
    if any(not mistake.is_ignored for mistake in mistakes) or not isinstance(content, dict):
        return mistakes
    from remit.config.check import mistakes_in_logic  # most files have no conditions

    return [*mistakes, *mistakes_in_logic(content)]  # pyright: ignore[reportUnknownArgumentType] - checked above


def _outside(content: object) -> Iterator[Mistake]:
    """List the paths of a project's sandboxes that lead out of it."""
    for name, table in as_object(as_object(content).get("servers")).items():
        sandbox = as_object(table).get("sandbox")
        for key in ("read", "write") if isinstance(sandbox, dict) else ():
            if not all(map(_is_inside, as_list(as_object(sandbox).get(key)))):
                message = "a project's sandbox can only contain its own files"
                path = ("servers", name, "sandbox", key)
                yield Mistake(path, message, "use paths inside the project", is_ignored=True)


def _is_inside(path: str) -> bool:
    is_relative = not (os.path.isabs(path) or path.startswith("~"))
    return is_relative and os.path.normpath(path).split(os.sep)[0] != os.pardir


def check_tools(content: object) -> list[Mistake]:
    """List the mistakes in states, tools and namespaces that a program declares as a file would."""
    top = TOP._replace(keys=[key for key in TOP.keys if key.name in _FOR_TOOLS], gone={})
    mistakes = [*top.check(content)]
    if mistakes or not isinstance(content, dict):
        return mistakes
    from remit.config.check import mistakes_in_logic

    return [*mistakes_in_logic(content)]  # pyright: ignore[reportUnknownArgumentType] - checked above
