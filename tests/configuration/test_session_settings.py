"""How much agents are told, by what files say."""

import tomllib

from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile
from remit.configuration.file_parser import read
from remit.configuration.layers import SessionSettings, session_settings


def said(layer: ConfigurationLayer, text: str) -> LoadedFile:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    return LoadedFile(ConfigurationFile(layer, f"/{layer}/remit.toml"), content)


def machine(text: str) -> LoadedFile:
    return said(ConfigurationLayer.MACHINE, text)


def project(text: str) -> LoadedFile:
    return said(ConfigurationLayer.PROJECT, text)


def test_files_that_say_nothing_change_nothing() -> None:
    assert session_settings([machine(""), project("")]) == SessionSettings()


def test_the_machines_file_may_say_anything() -> None:
    text = "[context]\ncharacters = 9000\ntokens = 3000\ntools = 900\n"
    more = "[suggestions]\nenabled = false\nshared_patterns = true"
    assert session_settings([machine(text + more)]) == SessionSettings(
        9000, 3000, 900, hints=False, shared_patterns=True
    )


def test_a_project_can_only_have_agents_told_less() -> None:
    told = session_settings(
        [machine("[context]\ntools = 600"), project("[context]\ntools = 100\ncharacters = 9000")]
    )
    assert (told.tools, told.characters) == (100, 6000)
    assert not session_settings([project("[suggestions]\nenabled = false")]).hints
    off = machine("[suggestions]\nenabled = false")
    assert not session_settings([off, project("[suggestions]\nenabled = true")]).hints
    assert not session_settings([project("[memory]\nobserve = false")]).observes


def test_the_administrators_file_has_the_last_word() -> None:
    managed = said(ConfigurationLayer.MANAGED, "[context]\ntools = 300")
    assert (
        session_settings([managed, machine("[context]\ntools = 600"), project("[context]\ntools = 10")]).tools
        == 300
    )


def test_a_key_that_is_misspelt_is_a_mistake_with_a_hint() -> None:
    _, (mistake,) = read({"context": {"charcters": 1}})
    assert mistake.path == ("context", "charcters")
    assert mistake.hint is not None
    assert "characters" in mistake.hint
    _, mistakes = read({"suggestions": {"enabled": "yes"}, "context": {"tools": 10_001}})
    assert [each.path for each in mistakes] == [("context", "tools"), ("suggestions", "enabled")]
