"""What a person trusts: servers, definitions, calls; and the lock of what a team reviewed."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False
if TYPE_CHECKING:
    from remit.trust.approvals import Approvals, ApprovalStatus, Permit, bind, caller_of, readable
    from remit.trust.arguments import argument_mistake
    from remit.trust.definitions import (
        Cause,
        HeldDefinition,
        accept,
        held,
        held_instructions,
        judged,
        pending,
    )
    from remit.trust.entries import ServerTrust, entry_lines, grant, revoke, servers
    from remit.trust.inspection import Finding, Inspector, OtherTools, read_findings
    from remit.trust.inspection.inspector import ModelInspector
    from remit.trust.lists import PreparedList, withheld
    from remit.trust.lock import (
        Lock,
        LockedServer,
        build_lock,
        differences,
        lock_server,
        lock_text,
        losses,
    )
    from remit.trust.permit import StartPermit, permit_start, trusted_digest
    from remit.trust.pins import diff, lines_of, pin_of

_MODULES = {
    "approvals": "ApprovalStatus Approvals Permit bind caller_of readable",
    "arguments": "argument_mistake",
    "definitions": "Cause HeldDefinition accept held held_instructions judged pending",
    "entries": "ServerTrust entry_lines grant revoke servers",
    "inspection": "Finding Inspector OtherTools read_findings",
    "inspection.inspector": "ModelInspector",
    "lists": "PreparedList withheld",
    "lock": "Lock LockedServer build_lock differences lock_server lock_text losses",
    "permit": "StartPermit permit_start trusted_digest",
    "pins": "diff lines_of pin_of",
}
_HOMES = {name: f"remit.trust.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.trust` has no attribute `{name}`")
