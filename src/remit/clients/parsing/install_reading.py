"""Finds our gateway among the servers of a client: the entry in the install record, and no other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from remit.decision.scopes import Scope
from remit.decision.tool_names import SERVER
from remit.files.bounded_reader import FileError, read_text
from remit.install.install_record import InstallRecord, read
from remit.install.install_record_path import record_paths

if TYPE_CHECKING:
    from remit.clients.parsing.client_reader import ClientReader
    from remit.decision.declarations import Declaration

RECORD_LIMIT = 16 * 2**20  # bytes
_OWN_SCOPES = (Scope.GLOBAL, Scope.MANAGED)  # only the user and the administrator write their files


def read_installs(reader: ClientReader, client: str) -> list[InstallRecord]:
    """Read the install records of a client: the user's and the administrator's; note invalid ones."""
    return [
        record
        for path in record_paths(client, reader.machine)
        if reader.look_at(path) and (record := _read_install(reader, path)) is not None
    ]


def _read_install(reader: ClientReader, path: str) -> InstallRecord | None:
    try:
        text = read_text(path, limit=RECORD_LIMIT)
        return None if text is None else read(text)
    except FileError as error:
        reader.note(path, error.reason, error.place)
    except ValueError as error:
        reader.note(path, str(error))
    return None


def mark_gateway(declaration: Declaration, installs: Iterable[InstallRecord]) -> Declaration:
    """Mark a declaration if it is our gateway: in the recorded file, with the recorded command line."""
    launch = declaration.launch
    if launch is None or declaration.server != SERVER or declaration.scope not in _OWN_SCOPES:
        return declaration
    found = (declaration.source, (launch.command, *launch.args))
    is_own = declaration.plugin is None and any(record.gateway == found for record in installs)
    return replace(declaration, is_remit=is_own)
