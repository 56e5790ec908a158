"""What the eras spell differently, and how a client's connection settles on one."""

from typing import Any

import pytest

from remit.protocol import RULES, ClientEra, Era, JsonRpcError, era_of, without_envelope

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}}
SERVER = {"name": "remit"}


def code_of(era: ClientEra, method: str, meta: object = None) -> int:
    with pytest.raises(JsonRpcError) as caught:
        era.of(method, {} if meta is None else {"_meta": meta})
    return caught.value.code


def test_each_version_belongs_to_one_era_and_the_latest_common_one_counts() -> None:
    versions: list[object] = ["2025-11-25", "2026-07-28", "2031-01-01", None, []]
    assert [era_of(version) for version in versions] == [
        *(Era.SESSION, Era.STATELESS, None, None, None),
    ]
    assert RULES[Era.SESSION].common(["2025-06-18", "2024-11-05", "x"]) == "2025-06-18"
    assert RULES[Era.STATELESS].common(["2025-06-18"]) is None
    assert RULES[Era.STATELESS].common("2026-07-28") is None


def test_discovery_does_not_settle_the_era() -> None:
    era = ClientEra()
    assert era.of("server/discover", {"_meta": META}) is Era.STATELESS
    assert era.initialize(HELLO) == "2025-06-18"
    assert era.of("tools/list", {}) is Era.SESSION
    assert code_of(era, "tools/list", META) == -32600


def test_another_request_settles_it() -> None:
    era = ClientEra()
    assert era.of("tools/list", {"_meta": META}) is Era.STATELESS
    assert code_of(era, "tools/list") == -32602
    with pytest.raises(JsonRpcError) as caught:
        era.initialize(HELLO)
    assert (caught.value.code, caught.value.data) == (
        -32022,
        {"supported": ["2026-07-28"], "requested": "2025-06-18"},
    )


def test_nothing_is_served_before_the_handshake_and_no_method_of_another_era() -> None:
    era = ClientEra()
    assert code_of(era, "tools/list") == -32600
    assert code_of(era, "tools/list", {**META, "io.modelcontextprotocol/protocolVersion": "2031"}) == -32022
    assert code_of(era, "tools/list", {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}) == -32602
    assert code_of(era, "resources/subscribe", META) == -32601
    assert era.settled is None
    assert era.initialize({"protocolVersion": "2031-01-01"}) == "2025-11-25"
    assert code_of(era, "subscriptions/listen") == -32601
    with pytest.raises(JsonRpcError):
        era.initialize({})


def test_a_second_initialize_goes_on_with_the_session() -> None:
    era = ClientEra()
    era.initialize(HELLO)
    assert era.initialize({"protocolVersion": "2025-11-25"}) == "2025-11-25"
    assert era.of("resources/subscribe", {}) is Era.SESSION


def test_answers_have_the_members_of_their_era() -> None:
    listed: dict[str, Any] = {"tools": [], "ttlMs": 5, "resultType": "complete", "_meta": {"a": 1}}
    session, stateless = RULES[Era.SESSION], RULES[Era.STATELESS]
    assert session.shape_answer(listed, "tools/list", SERVER) == {"tools": [], "_meta": {"a": 1}}
    meta = {"io.modelcontextprotocol/serverInfo": SERVER}
    assert stateless.shape_answer(listed, "tools/list", SERVER) == {
        **listed,
        "cacheScope": "private",
        "_meta": {"a": 1, **meta},
    }
    required = {"resultType": "input_required"}
    assert stateless.shape_answer(required, "tools/list", SERVER) == {**required, "_meta": meta}
    assert stateless.shape_answer({}, "tools/call", SERVER) == {"resultType": "complete", "_meta": meta}
    assert (session.error_code(-32002), stateless.error_code(-32002)) == (-32002, -32602)
    assert without_envelope({"name": "x", "_meta": {**META, "a": 1}}) == {"name": "x", "_meta": {"a": 1}}
    assert without_envelope({"name": "x", "_meta": META}) == {"name": "x"}
