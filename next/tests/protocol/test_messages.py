"""JSON on one line: what cannot be represented is repaired, and lists are written once."""

import json
import subprocess
import sys

import pytest

from remit.protocol import (
    RELAYED,
    JsonRpcError,
    Params,
    RawJson,
    decode,
    encode,
    is_at_least,
    require_capability,
)


def test_nan_and_lone_surrogates_are_repaired_and_other_text_stays() -> None:
    message = {"a": [float("nan"), 1.5], "b": float("inf"), "\ud83d": "\ud83d x"}
    assert json.loads(encode(message)) == {"a": [None, 1.5], "b": None, "?": "? x"}
    assert encode({"whole": "größer"}) == '{"whole":"größer"}'.encode()


def test_a_list_is_written_once_on_one_line_for_every_parser() -> None:
    items = [{"description": "a\u2028b\u2029c\x85d\n"}, float("nan")]
    raw = RawJson(items)
    line = encode({"jsonrpc": "2.0", "id": "a", "result": {"tools": raw, "ttlMs": 0}})
    assert raw.json in line
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["result"] == {"tools": [items[0], None], "ttlMs": 0}
    assert raw.value == [items[0], None]


def test_json_that_is_too_deep_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        decode(b"[" * 200_000)


def test_a_client_is_asked_only_what_it_declared() -> None:
    require_capability("roots/list", {}, RELAYED)
    require_capability("elicitation/create", {"mode": "url"}, RELAYED)
    refused: list[tuple[str, Params, Params]] = [
        ("sampling/createMessage", {}, {"roots": {}}),
        ("elicitation/create", {"mode": "url"}, {"elicitation": {"form": {}}}),
        ("tools/call", {}, RELAYED),
    ]
    for method, params, capabilities in refused:
        with pytest.raises(JsonRpcError, match="does not answer"):
            require_capability(method, params, capabilities)


def test_unknown_log_levels_reach_nothing() -> None:
    assert is_at_least("error", "warning")
    assert not is_at_least("info", "warning")
    assert not is_at_least("loud", "debug")
    assert not is_at_least("error", None)


def test_a_stdio_gateway_loads_neither_httpx2_nor_mcp_nor_pydantic() -> None:
    code = (
        "import sys; from remit.protocol import connect, Peer, LineTransport, ClientEra, RawJson, Tasks;"
        "print([n for n in ('httpx2', 'httpcore2', 'mcp', 'pydantic', 'pydantic_core', 'email', 'http')"
        " if n in sys.modules], 'remit.protocol.http_client' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[] False\n"
