"""Remit's own install in a client: whether the client loads Remit, and nothing beside it."""

from collections.abc import Iterator

from remit.decision.client_settings import ClientSettings
from remit.decision.context import shorten
from remit.decision.gate_rules import status_reason
from remit.decision.kinds import RUNS
from remit.decision.problems import Severity
from remit.decision.scopes import Scope
from remit.decision.settings_rules import Effect, SettingsLevel
from remit.doctor.findings import Finding, Patient, about
from remit.install.record import SERVER, is_served


def missing_remit(patient: Patient) -> Iterator[Finding]:
    """Find that the client is to load nothing but Remit, and does not load Remit."""
    if not patient.own_rules or _has_remit(patient):
        return
    mine = [item for item in patient.servers if item.declaration.is_remit]
    own = next((item for item in mine if item.declaration.scope is Scope.GLOBAL), None)
    if own is None:
        why, fix = (
            "its entry is gone",
            "run `remit install claude-code` again, or `remit uninstall claude-code`",
        )
    elif own.shadowed_by is not None:
        place = shorten(own.shadowed_by.source, patient.context)
        why, fix = f"another server called `{SERVER}` in {place} is in force", "give that server another name"
    else:
        why = status_reason(own.config_status) + _lists(patient)
        fix = "change that, or run `remit uninstall claude-code` to have the client load its servers itself"
    yield Finding(
        severity=Severity.ERROR,
        check="install",
        source=patient.own_rules[0].source,
        place="allowedMcpServers",
        reason=f"the client is to load Remit alone, and Remit is not in force here: {why}",
        fix=fix,
    )


def lost_installs(patient: Patient) -> Iterator[Finding]:
    """Find a list that Remit narrowed, of which no record is left."""
    for rule in patient.rules:
        is_named = rule.effect is Effect.ALLOWS and rule.subject == f"name:{SERVER}"
        if is_named and rule.level is SettingsLevel.USER and not patient.own_rules:
            yield Finding(
                severity=Severity.WARNING,
                check="install",
                source=rule.source,
                place="allowedMcpServers",
                reason="names Remit, and there is no record of an install: all that it leaves out is denied",
                fix="run `remit install claude-code` again, or `remit uninstall claude-code`",
            )


def unloaded_servers(patient: Patient) -> Iterator[Finding]:
    """Find servers that Remit does not serve, and that the client does not load because of its list."""
    for declaration in patient.in_force if patient.own_rules else ():
        if not is_served(declaration) and _as_client(patient).status(declaration) not in RUNS:
            yield about(
                declaration,
                Severity.ERROR,
                "install",
                reason="only the client can load it, and `allowedMcpServers` does not name it",
                fix="run `remit install claude-code` again; it needs a name of letters, digits, `-` and `_`",
            )


def loaded_twice(patient: Patient) -> Iterator[Finding]:
    """Find servers that Remit serves and the client loads all the same, because another list names them."""
    if not (patient.own_rules and _has_remit(patient)):
        return
    client = _as_client(patient)
    for declaration in patient.in_force:
        is_ours = is_served(declaration) and not declaration.is_remit
        if is_ours and client.status(declaration) in RUNS:
            yield about(
                declaration,
                Severity.WARNING,
                "install",
                reason=f"`allowedMcpServers`{_lists(patient)} adds to Remit's list: the client loads it too, "
                "and each of its tools is there twice",
                fix="take it off that list, or live with it",
            )


def _has_remit(patient: Patient) -> bool:
    return any(declaration.is_remit for declaration in patient.in_force)


def _lists(patient: Patient) -> str:
    """Say where the lists of others are."""
    sources = dict.fromkeys(rule.source for rule in patient.rules if rule.effect is Effect.ALLOWS)
    return f" in {', '.join(shorten(each, patient.context) for each in sources)}" if sources else ""


def _as_client(patient: Patient) -> ClientSettings:
    """The settings as the client has them, with what Remit wrote."""
    return ClientSettings([*patient.rules, *patient.own_rules], is_headless=patient.context.flags.is_headless)
