"""Names of files and directories that tools run, or trust, when someone opens a project or works in it.

A writable directory of a sandbox keeps them read-only, unless the user's own file names them in `write`. At
the top of a project every name with a leading dot counts, except caches and the like: no list of all tools is
complete. Below, where such names also belong to the data of servers, only known names count.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache

from remit.decision.permissions.client_facts import CLIENTS

# All patterns are for names in lower case.
_RUNS_CODE = (
    # version control and its hooks
    *(".git", ".hg", ".jj", ".svn", ".gitmodules", ".husky", ".githooks", ".pre-commit-config.*"),
    *("lefthook.*", "lefthook-local.*", ".lefthook*", ".overcommit.yml", "prek.toml"),
    # environments that a shell or a version manager enters
    *(".envrc", ".direnv", ".mise*", "mise.toml", "mise.*.toml", ".rtx*", ".tool-versions", ".config"),
    # clients of MCP, with their servers, hooks and commands; then others that Remit does not read
    *(name for client in CLIENTS.values() for name in client.project),
    *(".qwen", ".crush*", "crush.json", ".kilocode", ".factory", ".trae", ".amazonq", ".junie", ".augment"),
    *(".aider*", ".amp"),
    # editors and debuggers
    *(".vs", ".idea", ".fleet", ".devcontainer*", "*.code-workspace", ".exrc", ".nvimrc"),
    *(".nvim.lua", ".vimrc", ".lvimrc", ".dir-locals*.el", ".gdbinit", ".lldbinit", ".pdbrc", ".rprofile"),
    # builds, packages and continuous integration
    *(".cargo", ".yarnrc*", ".yarn", ".pnpmfile.*", ".npmrc", ".mvn"),
    *(".github", ".gitlab-ci.yml", ".circleci"),
    *("remit.toml", "remit.local.toml", "remit.lock"),
)
# Instructions, which agents follow.
_INSTRUCTS = (
    *("claude.md", "claude.*.md", "agents.md", "agents.*.md", "agent.md", "gemini.md", "qwen.md", "crush.md"),
    *("warp.md", "iflow.md", "codebuddy.md", ".cursorrules", ".windsurfrules", ".clinerules*", ".roorules*"),
    *(".goosehints", ".rules"),
)
# At the top of a project: what tools make for themselves, and lists of files that they leave out.
_HARMLESS = (
    *(".cache", "*_cache", "*-cache", ".hypothesis", ".ipynb_checkpoints", ".coverage", ".coverage.*"),
    *(
        ".nyc_output",
        ".next",
        ".nuxt",
        ".svelte-kit",
        ".turbo",
        ".angular",
        ".astro",
        ".playwright-mcp",
        ".tmp",
        ".temp",
    ),
    *(".trash", ".ds_store", ".gitignore", ".gitkeep", ".*ignore", ".keep", ".editorconfig"),
)
_AT_THE_TOP = ("mise",)  # `mise/config.toml`


def runs_code(name: str) -> bool:
    """Check for a name that tools run or trust, in any directory."""
    return _matches(name, _RUNS_CODE)


def is_kept(name: str, *, at_top: bool) -> bool:
    """Check for a name that a writable directory keeps read-only, perhaps at the top of a project."""
    if runs_code(name) or _matches(name, _INSTRUCTS):
        return True
    return at_top and (name in _AT_THE_TOP or (name.startswith(".") and not _matches(name, _HARMLESS)))


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return _compiled(patterns).match(name.lower()) is not None


@cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))  # a project may have 200,000 names
