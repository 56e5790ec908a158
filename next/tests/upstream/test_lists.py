"""Lists are read item by item: a bad tool is set aside and named, and spoils no other."""

import json
from typing import Any

from remit.decision import Launch
from remit.protocol import Era, Handshake
from remit.upstream import DECLARES_STATES
from remit.upstream.lists import read_offer
from support.upstreams import upstream

SERVER = upstream(Launch(command="run"), "small")
SCHEMA = {"type": "object"}


def read(*tools: Any, capabilities: dict[str, Any] | None = None, **lists: Any) -> Any:
    handshake = Handshake(Era.SESSION, "2025-11-25", capabilities or {}, {"version": "1.2"}, "Hi")
    return read_offer({"tools": list(tools), **lists}, handshake, SERVER)


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"x": value}
    return value


def test_a_tool_has_its_complete_definition_under_its_canonical_name() -> None:
    item = {"name": "do.it", "description": "Does it.", "inputSchema": SCHEMA, "_meta": {"x": 1}}
    offer = read(item)
    (definition,) = offer.tools
    assert (definition.name, definition.server, definition.tool) == ("mcp__small__do_it", "small", "do.it")
    assert definition.description == "Does it."
    assert json.loads(definition.raw) == item
    assert (offer.protocol_version, offer.server_version, offer.instructions) == ("2025-11-25", "1.2", "Hi")


def test_a_bad_tool_is_quarantined_and_named() -> None:
    offer = read(
        {"name": "good", "inputSchema": SCHEMA},
        {"name": "untyped", "inputSchema": {}},
        {"inputSchema": SCHEMA},
        "text",
        {"name": "schemaless"},
        {"name": "wordy", "inputSchema": SCHEMA, "description": 7},
        {"name": "do.it", "inputSchema": SCHEMA},
        {"name": "do_it", "inputSchema": SCHEMA},
        {"name": "good", "inputSchema": SCHEMA},
        {"name": "boundless", "inputSchema": {"type": "object", "maximum": float("nan")}},
        {"name": "n" * 257, "inputSchema": SCHEMA},
        {"name": "noted", "inputSchema": SCHEMA, "_meta": {"note": "x" * 2**20}},
        {"name": "deep", "inputSchema": {"type": "object", "x": nested(100)}},
        {"name": "deep enough", "inputSchema": {"type": "object", "x": nested(97)}},
    )
    assert [definition.tool for definition in offer.tools] == ["good", "do.it", "deep enough"]
    assert [tuple(bad) for bad in offer.quarantined] == [
        ("untyped", 'inputSchema: `type` is not "object"'),
        ("number 3", "has no name"),
        ("number 4", "the tool: not an object"),
        ("schemaless", "inputSchema: is missing"),
        ("wordy", "description: not text"),
        ("do_it", "collides with `do.it`: both are called `mcp__small__do_it`"),
        ("good", "is listed more than once; the first counts"),
        ("boundless", "contains a number that JSON cannot represent"),
        ("number 11", "its name is longer than 256 characters"),
        ("noted", "its definition is longer than 1,048,576 characters"),
        ("deep", "its definition is nested too deeply"),
    ]


def test_other_lists_keep_usable_items_with_distinct_names() -> None:
    offer = read(
        resources=[
            {"uri": "a"},
            {"uri": "a", "name": "again"},
            {"uri": ""},
            7,
            {"uri": "b", "x": nested(200)},
        ]
    )
    assert offer.resources == [{"uri": "a"}]


def test_a_lone_surrogate_is_replaced_where_it_would_be_stored() -> None:
    offer = read({"name": "odd\ud800", "description": "x\udfff", "inputSchema": SCHEMA})
    assert (offer.tools[0].tool, offer.tools[0].description) == ("odd\ufffd", "x\ufffd")


def test_a_server_that_knows_states_declares_its_whole_set() -> None:
    declared: dict[str, Any] = {
        "tools": [
            {
                "tool": {"name": "create", "inputSchema": SCHEMA},
                "states": ["project-loaded"],
                "namespace": "requirement",
                "danger": "moderate",
            },
            {"tool": {"name": "status", "inputSchema": SCHEMA}},
            {"tool": {"name": "broken", "inputSchema": SCHEMA}, "danger": "mortal"},
            {"tool": {"name": "untyped", "inputSchema": {}}},
        ],
        "states": {"project-loaded": {"description": "A project is loaded", "file": "project.yaml"}},
        "directory": "/code/shop",
    }
    capabilities: dict[str, Any] = {"tools": {}, "experimental": {DECLARES_STATES: declared, "other": {}}}
    offer = read({"name": "status", "inputSchema": SCHEMA}, capabilities=capabilities)
    create, status = offer.declared.tools
    assert (create.states, create.namespace, create.danger) == (
        ("project-loaded",),
        "requirement",
        "moderate",
    )
    assert (status.definition, status.states, status.danger) == (offer.tools[0], (), None)
    assert offer.declared.states == declared["states"]
    assert offer.declared.directory == "/code/shop"
    assert [bad.tool for bad in offer.quarantined] == ["broken", "untyped"]
    assert offer.capabilities == {"tools": {}, "experimental": {"other": {}}}
    assert read(capabilities={"experimental": {}}).declared is None
