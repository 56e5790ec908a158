"""What Remit itself wrote into a client's settings, which counts for the client and not for Remit."""

from typing import Any, cast

from remit.clients.parsing.client_reader import FILE_LIMIT, Reader
from remit.clients.parsing.entry_fields import EntryError, Fields
from remit.files.bounded_reader import FileError, Machine, read_text
from remit.files.formats import parse_json, parse_jsonc
from remit.install.record import SERVER, EditedFile, Install, Key, read
from remit.install.record_path import record_path

ALLOWED = "allowedMcpServers"


def read_install(reader: Reader, client: str) -> Install | None:
    """Read the record of Remit's own install in a client; None where there is none that can be used."""
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


def before_install(settings: Fields, own: EditedFile | None) -> Fields:
    """The settings as they were before Remit narrowed the list of allowed servers, if that still stands.

    A list from which Remit's own server was taken out is somebody else's.
    """
    key = _narrowing(own)
    if key is None or not _names_remit(settings):
        return settings
    content = dict(settings.items())
    del content[ALLOWED]
    if key.earlier is not None:
        content[ALLOWED] = parse_jsonc(key.earlier)
    return Fields(content)


def is_narrowed(client: str, path: str, machine: Machine) -> bool:
    """Tell whether the list that Remit narrowed in a client's settings still stands.

    Of settings that cannot be read now, the record is believed.
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
        return text is not None and _names_remit(Fields(parse_json(text)))
    except (FileError, EntryError):
        return True


def _narrowing(own: EditedFile | None) -> Key | None:
    return next((key for key in own.keys if key.path == (ALLOWED,)), None) if own is not None else None


def _names_remit(settings: Fields) -> bool:
    if not settings.is_list(ALLOWED):
        return False
    return {"serverName": SERVER} in cast("list[Any]", dict(settings.items())[ALLOWED])
