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
    Type,
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
_ASK = ProjectRight.ASK
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


def _result_budget(tokens: int) -> str | None:
    is_usual = _LEAST_RESULT <= tokens <= _LARGEST_BUDGET
    return None if is_usual or tokens == 0 else "out of range; 0 means no limit"


def _pushed(is_pushed: bool) -> str | None:
    return None if is_pushed else "expected true"


def _days(written: str) -> str | None:
    is_one = re.fullmatch(r"[1-9]\d{0,3}d", written)
    return None if is_one else "expected a number of days such as `400d`"


def _not_blank(name: str) -> tuple[str, str] | None:
    return None if name.strip() else ("the pattern is empty", "write `*` for all tools")


def _embeddings(written: str) -> str | tuple[str, str] | None:
    if written in EMBEDDINGS:
        return None
    match = re.fullmatch(r"(?ai)https?://(?:[\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?(?:/[!\"$-~]*)?", written)
    hint = f"use {listed(EMBEDDINGS)}, or a URL without user, password and fragment"
    return None if match and int(match[1] or 0) < 2**16 else ("neither a model nor a usable URL", hint)


_BUDGET = whole(0, _LARGEST_BUDGET)
_RESULT_BUDGET = Value(
    f"a whole number from {_LEAST_RESULT} to {_LARGEST_BUDGET:,}, or 0 for no limit", (int,), _result_budget
)
_PATTERNS = texts("a list of patterns of tools", example='write it as in `["mcp__git__*"]`')
_EVENT = Either((text("a pattern of tools"), _PATTERNS))
_VARIABLES = texts("a list of variables", _showable)
_FILES = Either((text("a path", _path), texts("a list of paths", _path, least=1, most=20)))


_key = ConfigKey


def _users(name: str, type: Type, meaning: str, default: str = "", **more: Any) -> ConfigKey:
    """Return a key that a project's file cannot set."""
    return ConfigKey(name, type, meaning, default, ProjectRight.NOTHING, **more)


def _narrowing(name: str, type: Type, meaning: str, default: str, *refused: object) -> ConfigKey:
    """Return a key for which a project's file cannot set some values."""
    return ConfigKey(name, type, meaning, default, ProjectRight.NARROW, refused=refused)


_ARGV = texts(
    "a list: the program and its arguments",
    _no_secret,
    least=1,
    most=50,
    example='it runs without a shell: `["gh", "auth", "status"]`',
)
_DETECTORS = (
    _key("file", _FILES, "one of these is a file, or with a trailing `/` a directory"),
    _key("glob", text("a pattern of paths", _pattern), "a path matches; `**` is any number of directories"),
    _key("git", choice(GIT_FACTS), "git says so; `dirty` and `clean` need trust", project=_ASK),
    _key("env", text("the name of a variable"), "the variable is set and not empty"),
    _key("value", text("a file and keys", _value_path), "the file has a value there: `package.json#main`"),
    _key("entities", text("a pattern, or a file and keys", _entities), "there are files, or items of a list"),
    _key("command", _ARGV, "it exits with 0; needs trust, in your own file too", project=_ASK),
    _key("http", text("a URL", url_problem), "the status is one of the 200s", project=_ASK),
    _key("push", Value("true", (bool,), _pushed), "a host application says so"),
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
    known = OPTIONS[detectors[0]] if detectors else ()
    for option in ("count", "equals", "timeout", "lifetime", "else"):
        if option in table and option not in known:
            takers = [kind for kind, options in OPTIONS.items() if option in options]
            yield Mistake((option,), f"`{option}` belongs to {listed(takers)}")
    equals = table.get("equals")
    if isinstance(equals, str) and may_be_secret(equals, str(table.get("env", ""))):
        yield Mistake(("equals",), "this may be a secret; keep secrets out of this file")
    if equals is not None and "git" in table and (table["git"] != "branch" or not isinstance(equals, str)):
        yield Mistake(("equals",), 'expected a pattern of names, next to `git = "branch"`')


def _implied(name: str) -> str | None:
    return None if is_state_name(name) else f"`{name}` is not the name of a state"


_COUNT = Value("a number or a comparison", (int, str), _count)
_STATES = Table(
    (
        _key("description", text(), "what it means, for people"),
        _key("kind", choice(KINDS), "what it is about", "`capability`; `workflow` with `on` or `off`"),
        _key("implies", texts("a list of states", _implied), "states that hold if it does", project=_ASK),
        _key("on", _EVENT, "tools whose success sets a workflow state"),
        _key("off", _EVENT, "tools whose success clears it"),
        _key("agents", FLAG, "whether agents may set, clear or push it with `remit states`", "false"),
        *_DETECTORS,
        _key("count", _COUNT, "how many there must be", '`">= 1"`'),
        _key("timeout", seconds(60), "how long detecting may take", "2 s"),
        _key("lifetime", seconds(_DAY), "how long a result is kept", "2 s; 30 s if it runs; 60 s if pushed"),
        _key("else", FLAG, "the value if it cannot be detected: a server does not answer", "unknown"),
        _key("equals", Value("a single value", (str, int, float, bool)), "the expected value", "any value"),
    ),
    rules=_state,
    gone={
        "directory": 'write `file = "NAME/"`, with a slash at the end',
        "exit": "a command holds if it exits with 0; write a command that does",
        "status": "a status of the 200s holds; for others, write a `command`",
    },
)

_NAMES = texts("a list of states")
_SCOPE = Table(
    (
        _key("all", _NAMES, "all of these hold"),
        _key("any", _NAMES, "one of these holds"),
        _key("none", _NAMES, "none of these holds"),
    ),
    "a table of `all`, `any`, `none`",
)
_PLACES = texts("a list of patterns")
_LOCATION = Table(
    (
        _key("pages", _PLACES, "one of these pages is shown"),
        _key("routes", _PLACES, "one of these routes is shown"),
        _key("components", _PLACES, "all of these components are shown"),
        _key("elements", _PLACES, "all of these elements are shown"),
    ),
    "a table of `pages`, `routes`, `components`, `elements`",
)
_LATER = "it is reserved; leave it out"
_AT_TOP = "write it at the top of the file, for all tools"
_APPROVAL = Either((FLAG, text("a condition")))
_TOOLS = Table(
    (
        _key(
            "states",
            Either((_NAMES, _SCOPE)),
            "states that must hold",
            aliases=("requiredStates", "requires"),
        ),
        _key("when", text("a condition"), "a condition that must hold"),
        _key("location", _LOCATION, "where in an application it belongs", aliases=("locationScope",)),
        _key("namespace", text(), "the group it is presented in"),
        _key("danger", choice(LEVELS), "how much harm it may do", project=_ASK, aliases=("dangerLevel",)),
        _key(
            "approval",
            _APPROVAL,
            "whether a person must approve its calls, or those for which a condition holds",
            project=_ASK,
            aliases=("requiresApproval",),
        ),
        _key("ai_enabled", FLAG, "whether agents may use it; false wins", "true", aliases=("aiEnabled",)),
    ),
    gone={"result_budget": _AT_TOP, **dict.fromkeys(("description", "fixed", "rename"), _LATER)},
)

_PATHS = texts("a list of paths")
_SANDBOX = Table(
    (
        _key("network", FLAG, "whether it may use the network", "false"),
        _key("read", _PATHS, "what it may read", '`["."]`, the project'),
        _key("write", _PATHS, "what it may change", "`[]`"),
    ),
    "a table of `network`, `read`, `write`",
    gone={"unix_sockets": "it reaches the sockets in what it may read; leave it out"},
)
_LISTS = (
    _key("allow", _PATTERNS, "the only tools that may be used; an empty list allows none", merge=Merge.ADD),
    _key("block", _PATTERNS, "tools that may not be used", merge=Merge.ADD),
)
_INHERITED = Either((FLAG, texts("a list of variables")))
_SERVERS = Table(
    (
        *_LISTS,
        _narrowing(
            "trusted", FLAG, "whether its annotations may lower a danger", "for your own servers", True
        ),
        _users("shared", FLAG, "whether all clients of the gateway share one session"),
        _users("inherit_env", _INHERITED, "the variables it gets: all, necessary ones, or these too", "true"),
        _users("deadline", seconds(_DAY), "how long a call may take without a sign of progress", "600 s"),
        _users("wrap", _ARGV, "the program that starts it, before its own command"),
        _narrowing(
            "sandbox", Either((FLAG, _SANDBOX)), "what it may reach; `true`: the project", "false", False
        ),
    ),
    gone={
        "prefix": "every tool has its server's name; leave it out",
        "sessions": "write `shared = true` or `shared = false`",
        "projects": "permissions hold for servers that you declared yourself; leave it out",
        "credentials": "it comes with `remit-team`",
        "result_budget": _AT_TOP,
        "idle_timeout": _LATER,
    },
)
_AGENTS = Table(_LISTS, gone=dict.fromkeys(("strategy", "token_budget"), _AT_TOP))
_ROOMS = Table(
    (_key("description", text(), "what it is for"), _key("tools", _PATTERNS, "what is in it")),
    gone=_AGENTS.gone,
)
_NAMESPACES = Table((_key("description", text(), "what clients read about it"),))
_MEMORY = Table(
    (_narrowing("enabled", FLAG, "whether agents have a memory", "false", True)._replace(merge=Merge.LEAST),),
    gone=dict.fromkeys(("tools", "observe", "projects"), "leave it out"),
)
_DAYS = Value("a number of days such as `400d`", (str,), _days)
_MODEL = text("`static`, `onnx`, `none` or a URL", _embeddings)
_CONTEXT = whole(0, _MOST_CONTEXT)
_TEAM = ("store", "store_password_file", "store_admin", "store_admin_password_file", "store_key_file")
TOP = Table(
    (
        _narrowing("strategy", choice(STRATEGIES), "how visible tools are listed", "`auto`", "flat"),
        _key("token_budget", _BUDGET, "tokens that listed definitions may cost", "6,000"),
        _key("result_budget", _RESULT_BUDGET, "tokens that one result may have", "10,000"),
        _key("pinned", _PATTERNS, "tools that every strategy lists", merge=Merge.ADD),
        _users(
            "mode", choice(Mode), "the default mode; an administrator's can only be narrowed", "`default`"
        ),
        _key("ask_from", choice(LEVELS), "the danger that needs approval", "`critical`", merge=Merge.LEAST),
        *_LISTS,
        _key("env", _VARIABLES, "variables for conditions: `env.NAME`", project=_ASK, merge=Merge.ADD),
        _users(
            "changes", choice(CHANGES), "what happens to changed definitions", "`hold`", merge=Merge.LEAST
        ),
        _users("adopt", FLAG, "whether a server added to the client later is served at once", "false"),
        _narrowing("context_budget", _CONTEXT, "tokens that a session begins with", "2,000")._replace(
            merge=Merge.LEAST
        ),
        _users("retention", _DAYS, "how long calls and uses are kept", "`90d` for calls, `365d` for uses"),
        _users(
            "filters", texts("a list of absolute paths", _absolute), "files with filters", merge=Merge.ADD
        ),
        _users("embeddings", _MODEL, "the model that searches by meaning", "`static`"),
        _users("embeddings_model", text(), "the model of an endpoint"),
        _users("embeddings_key_file", text("an absolute path", _absolute), "a private file with its key"),
        _key("memory", _MEMORY, "the memory of projects"),
        _key("states", Tables(_STATES, "a table for each state", _state_name), "facts about a workspace"),
        _key("tools", Tables(_TOOLS, "a table for each pattern", _not_blank), "rules for tools, by pattern"),
        _key("servers", Tables(_SERVERS), "rules for servers, by name or pattern"),
        _key("agents", Tables(_AGENTS), "rules for agents, by name or pattern"),
        _key("rooms", Tables(_ROOMS), "groups of tools for one kind of work"),
        _key("namespaces", Tables(_NAMESPACES), "groups in which tools are presented"),
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
        **dict.fromkeys((*_TEAM, "identity", "access", "limits"), "it comes with `remit-team`"),
    },
)
TOP_NAMES = frozenset(key.name for key in TOP.keys)
_FOR_TOOLS = ("states", "tools", "namespaces")


def check_content(
    content: Mapping[str, Any],
    *,
    is_projects: bool = False,
    extra_keys: Callable[[], Iterable[ConfigKey]] = tuple,
) -> list[Mistake]:
    """List the mistakes in the content of one file, as far as they do not depend on other files."""
    top = TOP
    if not TOP_NAMES.issuperset(content):
        top = TOP._replace(keys=(*TOP.keys, *extra_keys()))
    mistakes = [*top.check(content, is_projects=is_projects)]
    if any(not mistake.is_ignored for mistake in mistakes):
        return mistakes
    from remit.config.check import mistakes_in_logic  # it needs the conditions, which most files have not

    return [*mistakes, *(_outside(content) if is_projects else ()), *mistakes_in_logic(content)]


def _outside(content: Mapping[str, Any]) -> Iterator[Mistake]:
    """List the paths of a project's sandboxes that lead out of it."""
    for name, table in content.get("servers", {}).items():
        sandbox = table.get("sandbox")
        for key in ("read", "write") if isinstance(sandbox, dict) else ():
            if not all(map(_is_inside, as_list(as_object(sandbox).get(key)))):  # pyright: ignore[reportUnknownArgumentType] - `as_object` takes anything
                message = "a project's sandbox can only contain its own files"
                path = ("servers", name, "sandbox", key)
                yield Mistake(path, message, "use paths inside the project", is_ignored=True)


def _is_inside(path: str) -> bool:
    is_relative = not (os.path.isabs(path) or path.startswith("~"))
    return is_relative and os.path.normpath(path).split(os.sep)[0] != os.pardir


def check_tools(content: Mapping[str, Any]) -> list[Mistake]:
    """List the mistakes in states, tools and namespaces that a program declares as a file would."""
    top = TOP._replace(keys=[key for key in TOP.keys if key.name in _FOR_TOOLS], gone={})
    mistakes = [*top.check(content)]
    if mistakes:
        return mistakes
    from remit.config.check import mistakes_in_logic

    return [*mistakes_in_logic(content)]
