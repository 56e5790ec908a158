"""Gemini CLI's trusted folders: no server of an untrusted folder starts."""

import os
from collections.abc import Sequence

from remit.clients.parsing.client_reader import ClientReader
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.decision.scopes import is_at_or_below
from remit.decision.settings_rules import Effect, SettingsLevel, SettingsRule
from remit.files.formats import parse_commented_json

TRUSTED_FOLDERS = "GEMINI_CLI_TRUSTED_FOLDERS_PATH"
TRUST = "GEMINI_CLI_TRUST_WORKSPACE"
RESTRICTED = "GEMINI_RESTRICTED_MODE"

_TRUSTING = {"TRUST_FOLDER": True, "TRUST_PARENT": True, "DO_NOT_TRUST": False}


def read_trust(reader: ClientReader, settings: Sequence[EntryFields], folder: str) -> bool:
    """Tell whether the launch directory is trusted, by settings (strongest first) and the user's answers."""
    named = reader.machine.variables.get(TRUSTED_FOLDERS) or os.path.join(folder, "trustedFolders.json")
    path = os.path.join(reader.workspace.dir, named)
    answer = _answer(reader, path)
    is_trusted = _by_variable(reader)
    if is_trusted is None:
        is_trusted = answer or not _is_asked_for(settings)
    if not is_trusted:
        with reader.part(path) as parsed:
            parsed.rules.append(SettingsRule(source=path, level=SettingsLevel.USER, effect=Effect.WITHHOLDS))
    return is_trusted


def _by_variable(reader: ClientReader) -> bool | None:
    variables = reader.machine.variables
    if variables.get(RESTRICTED) == "true" or variables.get(TRUST) == "false":
        return False
    return True if variables.get(TRUST) == "true" else None


def _is_asked_for(settings: Sequence[EntryFields]) -> bool:
    for file in settings:
        try:
            is_on = file.fields("security").fields("folderTrust").flag("enabled")
        except EntryError:
            continue
        if is_on is not None:
            return is_on
    return True


def _answer(reader: ClientReader, path: str) -> bool:
    """Read the answer for the longest path at or above the launch directory; one invalid rule voids all."""
    answers = reader.fields(path, parse_commented_json)
    levels = {rule: level for rule, level in answers.items() if isinstance(level, str) and level in _TRUSTING}
    if len(levels) < len(answers.items()):
        reader.note(path, f"expected one of {', '.join(_TRUSTING)}")
        return False
    above = [rule for rule in levels if is_at_or_below(reader.workspace.dir, _top(rule, levels[rule]))]
    return bool(above) and _TRUSTING[levels[max(above, key=len)]]


def _top(rule: str, level: str) -> str:
    return os.path.realpath(os.path.dirname(rule) if level == "TRUST_PARENT" else rule)
