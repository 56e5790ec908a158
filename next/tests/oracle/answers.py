"""What is asked in a world, and what counts of the answers: identity, verdict, gate, order and bytes.

The answers to a command are rows by name, in the order of the command; a row's values are those of `FIELDS`.
What a command says in words, times, counts of tokens and scores are left out, as is the server of memory.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from oracle.machine import Gateway, Machine
from oracle.worlds import View, World

Rows = dict[str, list[Any]]
Answers = dict[str, Rows]

FIELDS = {
    "scan": ("names",),
    "tools": ("kind", "server", "status", "verdict", "gate"),
    "why": (
        "kind",
        "server",
        "scope",
        "source",
        "line",
        "status",
        "verdict",
        "gate",
        "objections",
        "shadowed",
        "known",
    ),
    "search": ("names",),
    "states": ("value", "kind", "detector", "layer", "source"),
    "doctor": ("severity", "scope"),
    "context": ("names",),
    "serve": ("answer",),
    "calls": ("calls",),
    "lock": ("exit",),
    "approve": ("exit", "first", "second"),
    "hook": ("answer",),
    "install": ("paths",),
    "uninstall": ("text",),
    "servers": ("count", "list", "items", "found"),
}
MEMORY = "remit-memory"


def ask(
    world: World, remit: Sequence[str], root: Path, *, commands: Sequence[str] = tuple(FIELDS)
) -> Answers:
    """Build the world below a root, and ask the commands."""
    machine = Machine(world, remit, root)
    answers: Answers = {}
    for step in world.steps:
        _take(step, machine)
    for prefix in ("", "then ") if world.later else ("",):
        if prefix:
            machine.write(world.later)
        for label, rows in _looks(machine, commands):
            answers[prefix + label] = rows
    for client in ("claude-code",) if world.hooks else world.installs:
        answers.update(_installed(client, machine, commands))
    return answers


def _take(step: str, machine: Machine) -> None:
    if step == "serve":
        with machine.serve() as gateway:
            gateway.tools()
    else:
        process = machine.run(*step.split())
        assert process.returncode == 0, (step, process.stderr)


def _looks(machine: Machine, commands: Sequence[str]) -> Iterator[tuple[str, Rows]]:
    world = machine.world
    if "scan" in commands:  # the first command, so it tells what is new
        yield "scan", _scan(machine, world.views[0])
    for view in world.views:
        cwd = None if view.cwd == "project" else view.cwd
        client = None if view.client == "claude-code" else view.client
        listed = machine.json("tools", "--all", view=view)["tools"]
        rows = [row for row in listed if row["server"] != MEMORY]
        for command in _asked(view):
            if command in commands:
                label = " ".join([command, *_some(cwd), *_some(client), *_some(view.agent)])
                yield label, _look(machine, command, view, rows)
    if "serve" in commands and world.name.startswith("gateway"):
        yield from _served(machine, commands)
    if "lock" in commands and "lock" in world.steps:
        yield "lock", {"": [machine.run("lock", "--check").returncode]}


def _look(machine: Machine, command: str, view: View, rows: Sequence[Mapping[str, Any]]) -> Rows:
    world = machine.world
    match command:
        case "tools":
            return _unlike((_key(row, view), _pick(row, "tools")) for row in rows)
        case "why":
            names = dict.fromkeys([*(row["name"] for row in rows), *world.names])
            return {name: _why(machine.json("why", name, view=view)) for name in names}
        case "search":
            return {query: [_search(machine, query, view)] for query in world.queries}
        case "states":
            return _states(machine.json("states", view=view))
        case "doctor":
            return _doctor(machine, view)
        case _:
            return {"": [_named(machine.run("context", cwd=view.cwd).stdout, rows)]}


def _asked(view: View) -> tuple[str, ...]:
    if view.agent:
        return ("tools", "why", "search")
    if view.client != "claude-code":
        return ("tools", "why", "doctor")
    return ("tools", "why", "search", "states", "doctor", "context")


def _unlike(rows: Iterable[tuple[str, list[Any]]]) -> Rows:
    """Number the rows that have the same name."""
    numbered: Rows = {}
    for name, row in rows:
        count = sum(key == name or key.startswith(f"{name} #") for key in numbered)
        numbered[f"{name} #{count + 1}" if count else name] = row
    return numbered


def _some(text: str | None) -> list[str]:
    return [text] if text else []


def _pick(row: Mapping[str, Any], command: str) -> list[Any]:
    return [row.get(field) for field in FIELDS[command]]


def _key(row: Mapping[str, Any], view: View) -> str:
    client = [] if row["client"] == view.client else [row["client"]]
    return " ".join([row["name"], row["scope"], *_some(row["source"]), *client])


def _why(row: Mapping[str, Any]) -> list[Any]:
    objections = [gate["gate"] for gate in row["gates"] if not gate["passed"]]
    shadowed = [_key(other, View()) for other in row["shadowed"]]
    return _pick({**row, "objections": objections, "shadowed": shadowed}, "why")


def _scan(machine: Machine, view: View) -> Rows:
    answer = machine.json("scan", view=view)
    rows: Rows = {
        part: [[_key(row, view) for row in answer[part] if row["server"] != MEMORY]]
        for part in ("added", "removed", "changed")
    }
    rows["problems"] = [[problem["source"] for problem in answer["problems"]]]
    rows["duplicates"] = [[[_key(row, view) for row in group] for group in answer["duplicates"]]]
    for row in answer["exceptions"]:
        if row["server"] != MEMORY:
            rows.setdefault(f"hidden: {row['cause']}", [[]])[0].append(_key(row, view))
    return rows


def _search(machine: Machine, query: str, view: View) -> list[str]:
    found = machine.json("search", query, view=view)["tools"]
    return [row["name"] for row in found if MEMORY not in row["name"]]


def _states(answer: Mapping[str, Any]) -> Rows:
    """All that are not built in or not false; of the others only the names."""
    states = answer["states"]
    told = [state for state in states if state["layer"] != "builtin" or state["value"] is not False]
    rows = {state["name"]: _pick(state, "states") for state in told}
    return {**rows, "false": [[state["name"] for state in states if state not in told]]}


def _doctor(machine: Machine, view: View) -> Rows:
    findings = machine.json("doctor", view=view)["findings"]
    return _unlike(
        (
            " ".join([finding["check"], *_some(finding["source"]), *_some(finding["subject"])]),
            _pick(finding, "doctor"),
        )
        for finding in findings
    )


def _named(text: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which tools a text names, in its order; a server by its own name."""
    names = dict.fromkeys(row["server"] if row["kind"] == "mcp_server" else row["name"] for row in rows)
    places = {name: re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w-])", text) for name in names if name}
    starts = {name: place.start() for name, place in places.items() if place}
    return sorted(starts, key=starts.__getitem__)


def _served(machine: Machine, commands: Sequence[str]) -> Iterator[tuple[str, Rows]]:
    with machine.serve() as gateway:
        rows: Rows = {}
        tools = [tool for tool in gateway.tools() if MEMORY not in tool["name"]]
        rows["list"] = [[tool["name"] for tool in tools]]
        for tool in tools:
            if "__" in tool["name"]:  # Remit's own tools are words
                rows[f"item {tool['name']}"] = [digest(tool)]
        for query in machine.world.queries:
            rows[f"discover {query}"] = [discovered(gateway, query)]
        for name, given in machine.world.calls:
            rows[f"call {name} {json.dumps(given)}"] = [
                _outcome(gateway.ask("tools/call", name=name, arguments=given))
            ]
        yield "serve", rows
        if "approve" in commands and machine.world.calls:
            yield "approve", _answered(machine, gateway)
    if "calls" in commands and machine.world.calls:
        calls = machine.json("calls")["calls"]
        yield (
            "calls",
            {"": [[[call[key] for key in ("tool", "verdict", "gate", "outcome")] for call in calls]]},
        )


def digest(value: object) -> str:
    """Stand for a value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def discovered(gateway: Gateway, query: str) -> list[str]:
    """Find tools as an agent does."""
    answer = gateway.ask("tools/call", name="discover_tools", arguments={"query": query})
    tools = answer.get("result", {}).get("structuredContent", {}).get("tools", ())
    return [tool["name"] for tool in tools if MEMORY not in tool["name"]]


def _outcome(answer: Mapping[str, Any]) -> str:
    if "error" in answer:
        return f"error {answer['error']['code']}"
    result = answer["result"]
    if not result.get("isError"):
        return result["content"][0]["text"]
    refusal = result.get("structuredContent", {})
    return " ".join(["refused", *_some(refusal.get("error")), *_some(refusal.get("gate"))])


def _answered(machine: Machine, gateway: Gateway) -> Rows:
    """Approve the first call, deny the others, and make each twice again."""
    rows: Rows = {}
    for number, approval in enumerate(
        sorted(machine.json("approve")["approvals"], key=lambda item: item["tool"])
    ):
        name, given = approval["tool"], json.loads(approval["arguments"])
        code = machine.run("approve", approval["id"], "--deny" if number else "--yes").returncode
        call = [_outcome(gateway.ask("tools/call", name=name, arguments=given)) for _ in range(2)]
        rows[name] = [code, *call]
    return rows


def _installed(client: str, machine: Machine, commands: Sequence[str]) -> Iterator[tuple[str, Rows]]:
    if "install" not in commands:
        return
    before = _files(machine)
    process = machine.run("install", client, "--yes")
    installed = _files(machine)
    changed = sorted(path for path, content in installed.items() if content != before.get(path))
    yield f"install {client}", {"exit": [process.returncode], "changed": [changed]}
    if "hook" in commands and machine.world.hooks:
        yield "hook", _hooks(machine)
    for path, edit in machine.world.edits.items():
        content = json.loads((machine.root / path).read_text(encoding="utf-8"))
        machine.write({path: _merged(content, edit)})
    code = machine.run("uninstall", client, "--yes").returncode
    after = _files(machine)
    left: Rows = {"exit": [code]}
    for path in sorted(before.keys() | after.keys()):
        if after.get(path) != before.get(path):
            content = after.get(path)
            left[path] = [
                None if content is None else machine.plain(content.decode("utf-8", "backslashreplace"))
            ]
    yield f"uninstall {client}", left


def _merged(content: dict[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    """Change values at any depth; lists are values."""
    merged = {**content, **edit}
    for key, value in edit.items():
        if isinstance(value, dict):
            merged[key] = _merged(content.get(key, {}), cast("dict[str, Any]", value))
    return merged


def _files(machine: Machine) -> dict[str, bytes]:
    """Read the files of clients: all but what git and Remit keep for themselves."""
    paths = [path for path in machine.root.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(machine.root)): path.read_bytes()
        for path in paths
        if not {".git", "bin", "servers"} & set(path.parts) and "share/remit" not in str(path)
    }


def _hooks(machine: Machine) -> Rows:
    tools = [row for row in machine.json("tools", "--all")["tools"] if row["server"] != MEMORY]
    rows: Rows = {}
    start = machine.hook("SessionStart", source="startup")
    texts = [answer.get("hookSpecificOutput", {}).get("additionalContext", "") for answer in start]
    rows["SessionStart"] = [_named("\n".join(texts), tools)]
    for row in [*tools, *({"name": name, "kind": "named"} for name in machine.world.names)]:
        event = _event(row)
        if event:
            rows[row["name"]] = [_decision(machine.hook("PreToolUse", tool_use_id="t1", **event))]
        if row["kind"] == "mcp_tool":
            through = "mcp__remit__" + row["name"].removeprefix("mcp__")
            rows[through] = [
                _decision(machine.hook("PreToolUse", tool_use_id="t1", tool_name=through, tool_input={}))
            ]
    return rows


def _event(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """How the client calls a tool, a skill, a command or a subagent."""
    name = row["name"]
    if row["kind"] in {"skill", "slash_command"}:
        return {"tool_name": "Skill", "tool_input": {"skill": name.removeprefix("/")}}
    if row["kind"] == "subagent":
        return {"tool_name": "Agent", "tool_input": {"subagent_type": name, "prompt": "", "description": ""}}
    if row["kind"] in {"mcp_server", "plugin"} or name.startswith("/"):
        return None
    server = {"mcp_server": {"name": row["server"], "source": row["scope"]}} if row.get("server") else {}
    return {"tool_name": name, "tool_input": {}, **server}


def _decision(answers: Sequence[Mapping[str, Any]]) -> str:
    decisions = {answer.get("hookSpecificOutput", {}).get("permissionDecision") for answer in answers}
    if any("failed" in answer for answer in answers):
        return "failed"
    return next((decision for decision in ("deny", "ask", "allow") if decision in decisions), "nothing")
