"""What a project's file may not say."""

import tomllib

from remit.configuration.checks.project_limits import violations
from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile
from remit.configuration.file_parser import read
from remit.configuration.layers import combine, session_settings


def said(layer: ConfigurationLayer, text: str) -> LoadedFile:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    return LoadedFile(ConfigurationFile(layer, f"/{layer}/remit.toml"), content)


def machine(text: str) -> LoadedFile:
    return said(ConfigurationLayer.MACHINE, text)


def project(text: str) -> LoadedFile:
    return said(ConfigurationLayer.PROJECT, text)


def test_a_project_cannot_ask_for_the_patterns_of_others() -> None:
    wish = project("[suggestions]\nshared_patterns = true")
    assert not session_settings([wish]).shared_patterns
    ((file, mistake),) = violations([machine("[suggestions]\nshared_patterns = true"), wish])
    assert file == wish.file
    assert mistake.path == ("suggestions", "shared_patterns")


def test_only_the_user_and_the_administrator_open_other_memories() -> None:
    wish = project('[memory]\nprojects = ["*"]')
    mine = machine('[memory]\nprojects = ["team"]')
    managed = said(ConfigurationLayer.MANAGED, "[memory]\nprojects = []")
    assert combine([wish], {}).memory_projects == ()
    assert combine([mine, wish], {}).memory_projects == ("team",)
    assert combine([mine, wish, managed], {}).memory_projects == ()
    ((file, mistake),) = violations([mine, wish, managed])
    assert (file, mistake.path) == (wish.file, ("memory", "projects"))
