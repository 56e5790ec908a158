import pytest

from remit.clients.parsing.entry_fields import EntryError, EntryFields


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"servers": {}}, "`mcpServers` is missing; rename `servers` to `mcpServers`"),
        ({"mcpservers": {}}, "`mcpServers` is missing; rename `mcpservers` to `mcpServers`"),
        ({"mcp_servers": {}}, "`mcpServers` is missing; rename `mcp_servers` to `mcpServers`"),
        ({"servers": []}, "`mcpServers` is missing"),
        ({"git": {}}, "`mcpServers` is missing"),
    ],
)
def test_servers_under_another_key_are_told_its_right_name(content: object, reason: str) -> None:
    with pytest.raises(EntryError) as raised:
        EntryFields(content).require_servers("mcpServers")
    assert str(raised.value) == reason
