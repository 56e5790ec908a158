import pytest

from remit.trust.executed_files import is_kept, runs_code


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".git",
            ".gitmodules",
            ".husky",
            "lefthook.yaml",
            "lefthook-local.json",
            ".lefthook.toml",
            ".envrc",
        ),
        *(".mise.local.toml", "mise.prod.toml", ".mcp.json", ".claude", ".qwen", "crush.json", ".crush.json"),
        *(
            ".aider.conf.yml",
            ".vs",
            "shop.code-workspace",
            ".devcontainer.json",
            ".nvim.lua",
            ".cargo",
            ".npmrc",
        ),
        *(".yarnrc.yml", ".pnpmfile.cjs", ".dir-locals.el", ".gitlab-ci.yml", ".Rprofile", "remit.toml"),
    ],
)
def test_what_tools_run_is_kept_anywhere(name: str) -> None:
    assert runs_code(name)
    assert is_kept(name, at_top=False)


@pytest.mark.parametrize("name", ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", ".cursorrules"])
def test_instructions_for_agents_are_kept_anywhere_but_run_no_code(name: str) -> None:
    assert is_kept(name, at_top=False)
    assert not runs_code(name)


@pytest.mark.parametrize("name", [".env", ".venv", ".unheard-of", ".gitattributes", ".coveragerc", "mise"])
def test_an_unknown_name_with_a_dot_is_kept_only_at_the_top_of_a_project(name: str) -> None:
    assert is_kept(name, at_top=True)
    assert not is_kept(name, at_top=False)


@pytest.mark.parametrize(
    "name",
    [".cache", ".pytest_cache", ".ruff_cache", ".parcel-cache", ".gitignore", ".dockerignore", ".coverage.7"],
)
def test_caches_and_lists_of_files_are_not_kept(name: str) -> None:
    assert not is_kept(name, at_top=True)


@pytest.mark.parametrize("name", ["src", "readme.md", "package.json", "Makefile", "lefthook"])
def test_other_files_are_not_kept(name: str) -> None:
    assert not is_kept(name, at_top=True)
