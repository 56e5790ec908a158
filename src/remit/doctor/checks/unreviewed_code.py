"""Code that runs without a review: unpinned packages, and what a repository lets its client run."""

from collections.abc import Iterator

from remit.decision.definitions.entry_digests import entry_change
from remit.decision.kinds import COULD_RUN
from remit.decision.permissions.client_consents import trust_command
from remit.decision.problems import Severity
from remit.decision.scopes import Scope
from remit.decision.settings_rules import ExecutedSetting
from remit.doctor.findings import ClientSetup, Finding, PackageVersion, finding_about, fix_for_owner
from remit.text.secrets import shown
from remit.trust.package_commands import UnpinnedPackage, package_command, unpinned

_VERSION = "<version>"
_SHOWN = 10  # per file


def changed_entries(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose entries changed after the user trusted them, whoever starts them."""
    for item in setup.servers:
        declaration = item.declaration
        if declaration.launch is None:  # its file cannot be read now
            continue
        trusted = setup.trusts.get(declaration.key, declaration.digest)
        if trusted != declaration.digest:
            files = entry_change(trusted, declaration.digest)
            then = f"if that is right, run `{trust_command(declaration.server)}`"
            yield finding_about(
                declaration,
                Severity.WARNING,
                "trust",
                reason=f"not trusted since {files}, which can change which code it runs"
                if files
                else "its entry changed since you trusted it",
                fix=f"`remit trust` shows what changed; {then}",
            )


def unpinned_packages(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose code may change without review."""
    for item in setup.servers:
        declaration, launch = item.declaration, item.declaration.launch
        runs = item.shadowed_by is None and item.config_status in COULD_RUN and not declaration.is_remit
        if not runs or launch is None:
            continue
        words = [launch.command, *launch.args]
        package, command = unpinned(words), package_command(words)
        known = setup.version_of(command) if package is not None and command is not None else PackageVersion()
        if package is not None and not (known.is_fixed and declaration.scope is Scope.PROJECT):
            yield finding_about(
                declaration,
                Severity.WARNING,
                "unpinned",
                reason=f"{_name(package)} has no fixed version: what runs tomorrow is not what was reviewed",
                fix=fix_for_owner(declaration, _fix(package, known.version)),
            )


def _name(package: UnpinnedPackage) -> str:
    return f"`{name}`" if (name := shown(package.name)) else "its package"


def _fix(package: UnpinnedPackage, version: str | None) -> str:
    name = shown(package.name) or "…"
    if version is not None and _VERSION in package.pinned:
        return f"write `{package.pinned}`, the version here".replace("{}", name).replace(_VERSION, version)
    lookup = f"; `{package.lookup}` prints the newest" if package.lookup else ""
    return f"write `{package.pinned}`{lookup}".replace("{}", name)


def project_code(setup: ClientSetup) -> Iterator[Finding]:
    """Find files of a repository that make the client run code, each once."""
    for source in dict.fromkeys(each.source for each in setup.executed):
        found = list(dict.fromkeys(each for each in setup.executed if each.source == source))
        named = [_named(each, setup) for each in found[:_SHOWN]]
        more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        yield Finding(
            severity=Severity.WARNING,
            check="code",
            source=source,
            reason=f"the client runs code that this file chooses: {', '.join([*named, *more])}; Remit cannot "
            "prevent that",
            fix="check what runs before you start the client here, and remove what you do not trust",
        )


def _named(each: ExecutedSetting, setup: ClientSetup) -> str:
    line = setup.line_of(each.source, *filter(None, (each.section, each.key)))
    where = f" (line {line})" if line else ""
    return f"`{each.key}`{where}{f' runs `{each.command}`' if each.command else ''}"
