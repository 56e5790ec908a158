"""Settings that Remit itself wrote into a client: they apply to the client, not to Remit."""

from typing import Any, cast

from remit.clients.parsing.client_reader import FILE_LIMIT, ClientReader
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.files.bounded_reader import FileError, Machine, read_text
from remit.files.formats import parse_json, parse_jsonc
from remit.install.install_record import SERVER, EditedFile, InstallRecord, WrittenKey, read
from remit.install.install_record_path import record_path

ALLOWED = "allowedMcpServers"


def read_install(reader: ClientReader, client: str) -> InstallRecord | None:
    """Read the install record of a client; None if it is missing or invalid."""
    path = record_path(client, reader.machine)
    if not reader.look_at(path):
        return None
    try:
        text = read_text(path, limit=FILE_LIMIT)
        return None if text is None else read(text)
    except FileError as error:
        reader.note(path, error.reason, error.place)
    except ValueError as error:
        reader.note(path, str(error))
    return None


def before_install(settings: EntryFields, own: EditedFile | None) -> EntryFields:
    """Return the settings as they were before Remit narrowed the list of allowed servers.

    A list without Remit's own server was written by someone else, and stays unchanged.
    """
    key = _narrowing(own)
    if key is None or not _names_remit(settings):
        return settings
    content = dict(settings.items())
    del content[ALLOWED]
    if key.earlier is not None:
        content[ALLOWED] = parse_jsonc(key.earlier)
    return EntryFields(content)


def is_narrowed(client: str, path: str, machine: Machine) -> bool:
    """Tell whether the list that Remit narrowed is still in the client's settings.

    If the settings cannot be read now, the record decides.
    """
    try:
        text = read_text(record_path(client, machine), limit=FILE_LIMIT)
        own = None if text is None else read(text).file(path)
    except (FileError, ValueError):
        return False
    if _narrowing(own) is None:
        return False
    try:
        text = read_text(path, limit=FILE_LIMIT)
        return text is not None and _names_remit(EntryFields(parse_json(text)))
    except (FileError, EntryError):
        return True


def _narrowing(own: EditedFile | None) -> WrittenKey | None:
    return next((key for key in own.keys if key.path == (ALLOWED,)), None) if own is not None else None


def _names_remit(settings: EntryFields) -> bool:
    if not settings.is_list(ALLOWED):
        return False
    return {"serverName": SERVER} in cast("list[Any]", dict(settings.items())[ALLOWED])
