"""The harness: the real client reaches a server of its own files, and its model is told what came of it."""

import json
import sys
from pathlib import Path

from support.real_claude import run_claude
from support.servers import recorded


def test_scripted_call_reaches_a_server_of_the_project_and_its_result_the_model(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    definitions = tmp_path / "definitions.json"
    definitions.write_text(json.dumps({"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}))
    server = {"command": sys.executable, "args": [recorded.__file__, str(definitions)]}
    (project / "servers.json").write_text(json.dumps({"mcpServers": {"files": server}}))

    run = run_claude(
        home,
        project,
        plan=[("mcp__files__read", {"path": "a"})],
        extra=["--mcp-config", "servers.json", "--allowedTools", "mcp__files__read"],
        env={"ENABLE_TOOL_SEARCH": "false"},
    )

    assert [(server["name"], server["status"]) for server in run.init["mcp_servers"]] == [
        ("files", "connected")
    ]
    assert "mcp__files__read" in run.tools
    (result,) = run.results
    assert "read" in result
