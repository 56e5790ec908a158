"""Real servers of npm and PyPI, as `make test-servers` installs them, with what each needs to start."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(os.environ.get("REMIT_TEST_SERVERS", ""))
COUNT = int(os.environ.get("REMIT_TEST_SERVERS_COUNT", "0"))  # 0: all


class Real(NamedTuple):
    """A server, with what it needs to start; no credential is a real one."""

    program: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


NPM = (  # the smallest first: a slice takes these
    Real("mcp-server-sequential-thinking"),
    Real("mcp-server-memory"),
    Real("mcp-server-everything"),
    Real("mcp-server-filesystem", ("{home}",)),
    Real("mcp-server-brave-search", env={"BRAVE_API_KEY": "none"}),
    Real("mcp-server-everart", env={"EVERART_API_KEY": "none"}),
    Real("mcp-server-github", env={"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}),
    Real("mcp-server-gitlab", env={"GITLAB_PERSONAL_ACCESS_TOKEN": "none"}),
    Real("mcp-server-google-maps", env={"GOOGLE_MAPS_API_KEY": "none"}),
    Real("mcp-server-postgres", ("postgresql://ada:none@127.0.0.1:9/none",)),
    Real("mcp-server-slack", env={"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "none"}),
    Real("airtable-mcp-server", env={"AIRTABLE_API_KEY": "none"}),
    Real("brave-search-mcp-server", ("--transport", "stdio"), {"BRAVE_API_KEY": "none"}),
    Real("context7-mcp"),
    Real("exa-mcp-server", env={"EXA_API_KEY": "none"}),
    Real("git-mcp-server"),
    Real("mcp-hubspot", env={"PRIVATE_APP_ACCESS_TOKEN": "none"}),
    Real("mcp-linear", env={"LINEAR_API_TOKEN": "none"}),
    Real("mcp-searxng", env={"SEARXNG_URL": "http://127.0.0.1:9"}),
    Real("mcp-server-browsermcp"),
    Real("mcp-server-cloudflare", ("run", "none"), {"CLOUDFLARE_API_TOKEN": "none"}),
    Real("notion-mcp-server", env={"NOTION_TOKEN": "none"}),
    Real("perplexity-mcp", env={"PERPLEXITY_API_KEY": "none"}),
    Real("tavily-mcp", env={"TAVILY_API_KEY": "none"}),
)
PYPI = (
    Real("mcp-server-time", ("--local-timezone", "UTC")),
    Real("mcp-server-fetch"),
    Real("mcp-server-git"),
    Real("duckduckgo-mcp-server"),
)


def entries(home: Path) -> dict[str, dict[str, Any]]:
    places = [(FOLDER / "node_modules/.bin", real) for real in NPM]
    places += [(FOLDER / "python/bin", real) for real in PYPI]
    chosen = places[: COUNT or len(places)]
    return {
        real.program: {
            "command": str(place / real.program),
            "args": [word.format(home=home) for word in real.args],
            "env": dict(real.env),
        }
        for place, real in chosen
    }
