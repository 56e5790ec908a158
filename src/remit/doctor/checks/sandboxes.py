"""Servers that cannot start in their sandbox, or start without it."""

from collections.abc import Iterator

from remit.decision.problems import Severity
from remit.doctor.findings import ClientSetup, Finding, finding_about


def unavailable_sandboxes(setup: ClientSetup) -> Iterator[Finding]:
    """Find servers whose sandbox is not possible here, or that their client starts itself."""
    is_started_by_client = not setup.context.starts_servers
    for declaration, launch in setup.launches:
        obstacle = setup.facts.sandbox_obstacles.get(declaration.key)
        if obstacle is not None:
            yield finding_about(
                declaration,
                Severity.ERROR,
                "sandbox",
                reason=f"{obstacle}, so Remit does not start it",
                fix="make the sandbox possible, or change `sandbox` in Remit's configuration",
            )
        elif is_started_by_client and declaration.key in setup.facts.sandboxed and not launch.is_remote:
            yield finding_about(
                declaration,
                Severity.WARNING,
                "sandbox",
                reason="the client starts it without its sandbox, because Remit is not installed there",
                fix=f"run `remit install {declaration.client}`",
            )
