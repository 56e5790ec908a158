"""Makes rules, states and settings of the merged content of all files, as it is stored.

Every process does this, hooks included, so it loads neither the table of keys nor a parser.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from remit.config.detectors import Detector, read_detector, unlock
from remit.decision import (
    LEVELS,
    MCP,
    AnnotationTrust,
    Glob,
    Implications,
    ListTarget,
    Mode,
    ModeSetting,
    NextStep,
    Origin,
    Rules,
    RuleStrength,
    ToolList,
    ToolRule,
    Workspace,
    full_label,
    glob,
    normalise,
    tool_globs,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.decision.when import Condition, LocationScope, StateScope
    from remit.store import Problem

Merged = Mapping[str, Any]  # JSON that `merge` made
CONTEXT_BUDGET = 2_000  # tokens
_DAY = 86_400_000  # milliseconds


class StateRule(NamedTuple):
    """A state as the strongest file declares it."""

    name: str
    kind: str  # `capability`, `location`, `entity` or `workflow`
    description: str
    detector: Detector | None
    implies: tuple[str, ...]
    on: tuple[str, ...]  # patterns of tools whose success sets it
    off: tuple[str, ...]  # patterns of tools whose success clears it
    agents: bool  # whether agents may run the commands that set, clear or push it
    origin: Origin
    dir: str | None = None  # the base of its paths; None: the workspace and its checkout
    waits: bool = False  # for trust: its detector must not run

    def bases(self, workspace: Workspace) -> tuple[str, ...]:
        """List the directories from which its paths start, nearest first."""
        if self.dir is not None:
            return (self.dir,)
        return tuple(dict.fromkeys((workspace.dir, workspace.checkout)))


class Sandbox(NamedTuple):
    """What a server may reach."""

    network: bool = False
    read: tuple[str, ...] = (".",)  # paths, relative to the project
    write: tuple[str, ...] = ()


class ServerOptions(NamedTuple):
    """How the gateway runs a server; None means the default."""

    shared: bool | None = None
    inherit_env: bool | tuple[str, ...] | None = None
    deadline: float | None = None  # seconds
    wrap: tuple[str, ...] = ()
    sandbox: Sandbox | None = None
    projects_sandbox: str = ""  # what the project itself says of the sandbox, which its trust covers


class ServerRule(NamedTuple):
    """A file's table for the servers of a name or pattern."""

    name: Glob
    table: Mapping[str, Any]
    strength: RuleStrength
    origin: Origin

    def concerns(self, server: str, plugin: str | None) -> bool:
        """Return whether it is about a server."""
        return any(map(self.name.matches, (server, full_label(server, plugin), normalise(server))))


class ToolPattern(NamedTuple):
    """A pattern of tools in a list."""

    pattern: str
    globs: tuple[Glob, ...]
    origin: Origin


class Room(NamedTuple):
    """A group of tools for one kind of work."""

    name: str
    description: str
    tools: tuple[ToolPattern, ...]


class Embeddings(NamedTuple):
    """The model that searches by meaning."""

    provider: str = "static"  # or `onnx`, `none`, or the URL of an endpoint
    model: str = ""  # of the endpoint
    key_file: str | None = None


class Lock(NamedTuple):
    """The content of a project's lock; `problem` if it exists and cannot be used."""

    content: Mapping[str, Any] | None
    problem: str
    root: str  # the checkout that it locks


class TrustRequest(NamedTuple):
    """A part of a project's file that needs the user's trust, and why."""

    subject: str  # `states.NAME`, `tools.PATTERN` or `env`
    origin: Origin
    reasons: tuple[str, ...]
    shown: str  # what it would run, or what it says
    digest: str
    trusted_digest: str | None = None

    @property
    def name(self) -> str:
        """What a person types: the state, the pattern, or `[env]`."""
        return self.subject.partition(".")[2] or "[env]"

    @property
    def title(self) -> str:
        """The name with what it is."""
        section = self.subject.partition(".")[0]
        return {"states": f"state {self.name}", "tools": f"rule {self.name}"}.get(section, "variables")

    @property
    def is_trusted(self) -> bool:
        """Whether its current form is trusted."""
        return self.trusted_digest == self.digest

    @property
    def is_changed(self) -> bool:
        """Whether it has changed since it was trusted."""
        return self.trusted_digest is not None and not self.is_trusted


class Configuration(NamedTuple):
    """What all files of a workspace say."""

    rules: Rules
    states: Mapping[str, StateRule]
    implications: Implications
    env: tuple[str, ...]  # variables that conditions may use
    servers: tuple[ServerRule, ...]  # weakest first
    rooms: tuple[Room, ...]
    namespaces: Mapping[str, str]  # descriptions
    pinned: tuple[ToolPattern, ...]
    strategy: str | None
    token_budget: int | None
    result_budget: int | None
    context_budget: int
    retention: int | None  # milliseconds
    filters: tuple[str, ...]
    embeddings: Embeddings
    memory: bool
    changes: str  # `hold` or `note`
    adopt: bool
    lock: Lock | None
    extra: Mapping[str, Any]  # keys of extensions
    requests: tuple[TrustRequest, ...]
    problems: "tuple[Problem, ...]"
    invalid: tuple[str, ...]  # files that cannot be used as they are now
    inputs: Mapping[str, str]  # each file with its fingerprint

    def options(self, server: str, plugin: str | None = None, *, is_projects: bool = False) -> ServerOptions:
        """Return how to run a server; a project can give its own any name, so little by name widens it."""
        tables = [rule for rule in self.servers if rule.concerns(server, plugin)]
        merged: dict[str, Any] = {}
        for rule in tables:
            merged |= rule.table
        inherited = merged.get("inherit_env")
        if is_projects and inherited is not False:
            inherited = None
        wrap = tuple(merged.get("wrap", ()))
        sandbox = _sandbox(tables, is_projects=is_projects)
        declared = [
            rule.table["sandbox"]
            for rule in tables
            if rule.strength < RuleStrength.MACHINE and "sandbox" in rule.table
        ]
        covered = json.dumps(declared, sort_keys=True) if is_projects and declared else ""
        inherited = tuple(inherited) if isinstance(inherited, list) else inherited  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - a list of texts
        return ServerOptions(merged.get("shared"), inherited, merged.get("deadline"), wrap, sandbox, covered)

    def transitions(self, name: str) -> Mapping[str, bool]:
        """Return the workflow states that the success of a tool sets or clears."""
        changed: dict[str, bool] = {}
        for state in self.states.values():
            for patterns, truth in ((state.on, True), (state.off, False)):
                if any(form.matches(name) for pattern in patterns for form in tool_globs(pattern)):
                    changed[state.name] = truth
        return changed


def _sandbox(tables: Sequence[ServerRule], *, is_projects: bool) -> Sandbox | None:
    """Find the sandbox that counts: an administrator's, then of a project's own server the project's."""
    written = {rule.strength: rule.table["sandbox"] for rule in tables if "sandbox" in rule.table}
    order = [RuleStrength.MANAGED, RuleStrength.MACHINE, RuleStrength.NARROWING]
    if is_projects:
        order = [RuleStrength.MANAGED, RuleStrength.NARROWING, RuleStrength.MACHINE]
    table = next((written[strength] for strength in order if strength in written), False)
    if isinstance(table, bool):
        return Sandbox() if table else None
    defaults = Sandbox()
    return Sandbox(
        table.get("network", False),
        tuple(table.get("read", defaults.read)),
        tuple(table.get("write", ())),
    )


def compile_configuration(merged: Merged, inputs: Mapping[str, str]) -> Configuration:
    """Make rules, states and settings of the merged content of all files."""
    states = {name: _state(name, entry) for name, entry in merged["states"].items()}
    settings: Mapping[str, Any] = merged["settings"]
    retention = settings.get("retention")
    embeddings = {key: settings[key] for key in settings if key.startswith("embeddings")}
    return Configuration(
        rules=_rules(merged, states),
        states=states,
        implications=Implications(merged["names"], merged["implies"]),
        env=tuple(settings.get("env", ())),
        servers=tuple(
            ServerRule(glob(name), table, RuleStrength(strength), Origin(*origin))
            for name, strength, origin, table in merged["servers"]
        ),
        rooms=tuple(
            Room(name, description, _tool_patterns(tools)) for name, description, tools in merged["rooms"]
        ),
        namespaces=merged["namespaces"],
        pinned=_tool_patterns(merged["pinned"]),
        strategy=settings.get("strategy"),
        token_budget=settings.get("token_budget"),
        result_budget=settings.get("result_budget"),
        context_budget=settings.get("context_budget", CONTEXT_BUDGET),
        retention=None if retention is None else int(retention.removesuffix("d")) * _DAY,
        filters=tuple(settings.get("filters", ())),
        embeddings=Embeddings(
            embeddings.get("embeddings", "static"),
            embeddings.get("embeddings_model", ""),
            embeddings.get("embeddings_key_file"),
        ),
        memory=settings.get("memory", {}).get("enabled", False),
        changes=settings.get("changes", "hold"),
        adopt=settings.get("adopt", False),
        lock=None if merged["lock"] is None else Lock(*merged["lock"]),
        extra=merged["extra"],
        requests=tuple(
            TrustRequest(subject, Origin(*origin), tuple(reasons), *rest)
            for subject, origin, reasons, *rest in merged["requests"]
        ),
        problems=_problems(merged["problems"]),
        invalid=tuple(merged["invalid"]),
        inputs=inputs,
    )


def _problems(rows: Sequence[Sequence[str]]) -> "tuple[Problem, ...]":
    if not rows:
        return ()
    from remit.store import Problem  # it loads scans, and most files are valid

    return tuple(Problem(*row) for row in rows)


def state_rule(
    name: str,
    table: Mapping[str, Any],
    origin: Origin = Origin(""),  # noqa: B008 - a constant
    dir: str | None = None,
    *,
    waits: bool = False,
) -> StateRule:
    """Make a state of its valid table."""
    on, off = (_listed(table.get(key, ())) for key in ("on", "off"))
    return StateRule(
        name,
        table.get("kind", "workflow" if on or off else "capability"),
        table.get("description", ""),
        read_detector(table),
        tuple(table.get("implies", ())),
        on,
        off,
        table.get("agents", False),
        origin,
        dir,
        waits,
    )


def _state(name: str, entry: Mapping[str, Any]) -> StateRule:
    origin = Origin(*entry["origin"])
    return state_rule(name, entry["table"], origin, entry["dir"], waits=entry["waits"])


def _listed(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _tool_patterns(patterns: Sequence[Any]) -> tuple[ToolPattern, ...]:
    return tuple(ToolPattern(text, tool_globs(text), Origin(*origin)) for text, origin in patterns)


def _rules(merged: Merged, states: Mapping[str, StateRule]) -> Rules:
    own = frozenset(merged["own"])
    tools = [
        tool_rule(
            pattern,
            table,
            RuleStrength(strength),
            Origin(*origin),
            lines,
            own if strength >= RuleStrength.MACHINE else (),
        )
        for pattern, strength, origin, lines, table in merged["tools"]
    ]
    # Nothing lifts the approval that an invalid file needs, whatever it would say.
    asking = [
        ToolRule(pattern, tool_globs(pattern), RuleStrength.MANAGED, Origin(path, "", line), approval=True)
        for pattern, path, line in merged["asking"]
    ]
    asked = merged["ask_from"]
    return Rules(
        (*tools, *asking),
        [_list(*row) for row in merged["lists"]],
        annotation_trust=[
            AnnotationTrust(glob(name), table["trusted"])
            for name, _, _, table in merged["servers"]
            if "trusted" in table
        ],
        ask_from=None if asked is None else (LEVELS[asked[0]], Origin(*asked[1])),
        mode=_mode(merged["mode"]),
        fixed_mode=_mode(merged["fixed_mode"]),
        unlocks={name: way for name, state in states.items() if (way := state_unlock(state))},
        steps={name: step for name, state in states.items() if (step := _step(state))},
    )


def tool_rule(
    pattern: str,
    table: Mapping[str, Any],
    strength: RuleStrength = RuleStrength.NARROWING,
    origin: Origin = Origin(""),  # noqa: B008 - a constant
    lines: Mapping[str, int] | None = None,
    withheld: Collection[str] = (),
) -> ToolRule:
    """Make a rule of a valid table for a pattern of tools; it must not depend on the `withheld` states."""
    condition, call = condition_of(table, withheld).split() if has_condition(table) else (None, None)
    approval = table.get("approval")
    return ToolRule(
        pattern,
        tool_globs(pattern),
        strength,
        origin,
        lines or {},
        condition,
        call,
        LEVELS[table["danger"]] if "danger" in table else None,
        condition_of({"when": approval}, withheld) if isinstance(approval, str) else approval,
        table.get("ai_enabled"),
        table.get("namespace"),
    )


def has_condition(table: Mapping[str, Any]) -> bool:
    """Return whether a table for a pattern of tools has required states, a `when` or a location."""
    return any(key in table for key in ("states", "when", "location"))


def condition_of(table: Mapping[str, Any], withheld: Collection[str] = ()) -> "Condition":
    """Return what a valid table for a pattern of tools requires."""
    from remit.decision.when import Condition  # it costs 3.5 ms, and few files have conditions

    return Condition(
        _state_scope(table.get("states")),
        table.get("when"),
        _location_scope(table.get("location")),
        withheld,
    )


def _state_scope(written: Sequence[str] | Mapping[str, Sequence[str]] | None) -> "StateScope | None":
    from remit.decision.when import StateScope

    if written is None:
        return None
    if not isinstance(written, Mapping):
        return StateScope(tuple(written))
    either = written.get("any")
    return StateScope(
        tuple(written.get("all", ())),
        None if either is None else tuple(either),
        tuple(written.get("none", ())),
    )


def _location_scope(written: Mapping[str, Sequence[str]] | None) -> "LocationScope | None":
    from remit.decision.when import LocationScope

    if written is None:
        return None
    return LocationScope(
        *(tuple(written[name]) if name in written else None for name in LocationScope._fields)
    )


def _list(target: str, owner: str, origin: Sequence[Any], allows: bool, patterns: Sequence[str]) -> ToolList:
    read = own_globs if target == ListTarget.SERVER else tool_globs
    forms = tuple((pattern, read(pattern)) for pattern in patterns)
    return ToolList(ListTarget(target), glob(owner), forms, allows, Origin(*origin))


def own_globs(pattern: str) -> tuple[Glob, ...]:
    """Parse a pattern of a server's own tool names, which may also be canonical."""
    if pattern.startswith(MCP):
        return tool_globs(pattern)
    return (Glob(tuple(map(normalise, pattern.split("*")))),)


def _mode(setting: Sequence[Any] | None) -> ModeSetting | None:
    return None if setting is None else ModeSetting(Mode(setting[0]), Origin(*setting[1]))


def state_unlock(state: StateRule) -> str | None:
    """Explain how a person makes a state true; None if unknown."""
    if state.waits:
        return f"look at it with `remit trust {state.name}`, and trust it"
    if state.kind == "workflow":
        tools = f", or let {' or '.join(state.on)} succeed" if state.on else ""
        return f"run `remit states set {state.name}`{tools}"
    return None if state.detector is None else unlock(state.name, state.detector)


def _step(state: StateRule) -> NextStep | None:
    """Return how a model itself makes a state true; None if it cannot."""
    if state.agents and state.kind == "workflow":
        return NextStep(f"run `remit states set {state.name}`")
    return NextStep(f"set state `{state.name}` by a successful call", state.on) if state.on else None
