"""A home for the real Claude Code: a server, a skill, a command and an agent, and a trusted repository."""

import os
import subprocess
import sys
from pathlib import Path

from support.installs import Home
from support.real_claude import Call, Run, run_claude
from support.servers import recorded


class Machine(Home):
    """A user with a server, a skill, a command and an agent, who trusts a repository."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.machine = self.machine._replace(variables={"REMIT_HOME": str(self.root / "data")}, root="")
        subprocess.run(["git", "init", "-q"], cwd=self.shop, check=True)
        definitions = self.write(
            "tools.json", {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}
        )
        self.server = {"command": sys.executable, "args": [recorded.__file__, str(definitions)]}
        state = {
            "mcpServers": {"press": self.server},
            "projects": {str(self.shop): {"hasTrustDialogAccepted": True}},
        }
        self.write("home/.claude.json", state)
        self.write("home/.claude/settings.json", {"permissions": {"allow": ["mcp__press", "Bash", "Skill"]}})
        for name, folder in (("polish", "skills/polish/SKILL"), ("varnish", "commands/varnish")):
            self.write(
                f"home/.claude/{folder}.md", f"---\nname: {name}\ndescription: to {name} it\n---\nDo.\n"
            )
        self.write(
            "home/.claude/agents/warden.md", "---\nname: warden\ndescription: to watch it\n---\nWatch.\n"
        )

    def session(self, *plan: Call, cwd: Path | None = None) -> Run:
        return run_claude(
            self.home, cwd or self.shop, plan=plan, env={"ENABLE_TOOL_SEARCH": "false"}, extra=()
        )

    def claude(self, *words: str) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.home), "DISABLE_AUTOUPDATER": "1"}
        command = [os.environ["REMIT_TEST_CLAUDE"], *words]
        return subprocess.run(command, cwd=self.shop, env=variables, capture_output=True, text=True)


def tools(name: str) -> dict[str, object]:
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}}]}
