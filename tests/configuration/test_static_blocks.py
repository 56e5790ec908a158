"""What a configuration blocks for good, in the words of Claude Code's own deny rules."""

import tomllib

import pytest

from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile
from remit.configuration.file_parser import read
from remit.configuration.static_blocks import static_blocks


def blocks(text: str, layer: ConfigurationLayer = ConfigurationLayer.MACHINE) -> list[str]:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    return static_blocks([LoadedFile(ConfigurationFile(layer, "/remit.toml"), content)])


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ('block = ["Bash", "Web*"]', ["Bash", "Web*"]),
        ('block = ["mcp__git__push"]', ["mcp__git__push", "mcp__remit__git__push"]),
        ('block = ["git__push"]', ["mcp__git__push", "mcp__remit__git__push"]),
        ('block = ["mcp__remit__git__push"]', ["mcp__remit__git__push", "mcp__git__push"]),
        ('block = ["mcp__git"]', ["mcp__git__*", "mcp__remit__git__*"]),
        ('block = ["mcp__*__drop_*"]', ["mcp__*__drop_*", "mcp__remit__*__drop_*"]),
        ('[tools."WebFetch"]\nai_enabled = false', ["WebFetch"]),
        ('[servers.git]\nblock = ["push"]', ["mcp__git__push", "mcp__remit__git__push"]),
        ('[servers."a.b"]\nblock = ["x.*"]', ["mcp__a_b__x_*", "mcp__remit__a_b__x_*"]),
        ('[servers.git]\nblock = ["mcp__git__push"]', ["mcp__git__push", "mcp__remit__git__push"]),
    ],
)
def test_a_block_is_written_as_the_client_calls_the_tool(text: str, rules: list[str]) -> None:
    assert blocks(text) == rules
    assert blocks(text, ConfigurationLayer.MANAGED) == rules


@pytest.mark.parametrize(
    "text",
    [
        *('block = ["/commit"]', 'block = ["deploy"]', 'block = ["Bash(rm *)"]'),
        *('block = ["*"]', 'block = ["mcp__*"]', 'block = ["mcp__remit__*"]'),  # would deny Remit's own tools
        '[tools."WebFetch"]\nai_enabled = true\ndanger = "critical"',
        '[agents.auditor]\nblock = ["Bash"]',
        '[tools."Bash"]\nwhen = "false"',
    ],
)
def test_what_the_client_cannot_say_or_does_not_hold_everywhere_is_left_out(text: str) -> None:
    assert blocks(text) == []


@pytest.mark.parametrize("layer", [ConfigurationLayer.PROJECT, ConfigurationLayer.LOCAL])
def test_a_projects_blocks_are_its_own(layer: ConfigurationLayer) -> None:
    assert blocks('block = ["Bash"]', layer) == []
