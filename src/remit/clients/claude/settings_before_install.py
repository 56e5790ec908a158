"""Settings that Remit itself wrote into a client: they apply to the client, not to Remit."""

from typing import Any, cast

from remit.clients.parsing.client_reader import FILE_LIMIT
from remit.clients.parsing.entry_fields import EntryError, EntryFields
from remit.decision.tool_names import SERVER
from remit.files.bounded_reader import ANYWHERE, FileError, Machine, read_text
from remit.files.formats import parse_json, parse_jsonc
from remit.install.install_record import EditedFile, InstallRecord, WrittenKey, read
from remit.install.install_record_path import managed_record_path, record_path

ALLOWED = "allowedMcpServers"


def before_install(settings: EntryFields, own: EditedFile | None) -> EntryFields:
    """Return the settings as they were before Remit narrowed the list of allowed servers.

    A list without Remit's own server was written by someone else, and stays unchanged.
    """
    key = _narrowing(own)
    if key is None or not _admits_gateway(settings, key):
        return settings
    content = dict(settings.items())
    del content[ALLOWED]
    if key.earlier is not None:
        content[ALLOWED] = parse_jsonc(key.earlier)
    return EntryFields(content)


def gateway_item(own: EditedFile | None) -> EntryFields:
    """Return the item of the narrowed list that admits our gateway."""
    key = _narrowing(own)
    return EntryFields({} if key is None else key.value[0])


def is_narrowed(client: str, path: str, machine: Machine) -> bool:
    """Tell whether the list that Remit narrowed is still in the client's settings.

    If the settings cannot be read now, the record decides.
    """
    record = _read(record_path(client, machine))
    key = None if record is None else _narrowing(record.file(path))
    if key is None:
        return False
    try:
        text = read_text(path, limit=FILE_LIMIT, within=ANYWHERE)
        return text is not None and _admits_gateway(EntryFields(parse_json(text)), key)
    except (FileError, EntryError):
        return True


def has_managed_gateway(client: str, path: str, machine: Machine) -> bool:
    """Tell whether our gateway is among the administrator's servers, which are then the only ones.

    If the file cannot be read now, the record decides.
    """
    record = _read(managed_record_path(client, machine))
    gateway = None if record is None else record.gateway
    if gateway is None or gateway.source != path:
        return False
    try:
        text = read_text(path, limit=FILE_LIMIT, within=ANYWHERE)
        servers = EntryFields({} if text is None else parse_json(text)).fields("mcpServers")
        entry = servers.fields(SERVER)
        return (entry.text("command"), *entry.texts("args")) == gateway.words if SERVER in servers else False
    except (FileError, EntryError):
        return True


def _read(path: str) -> InstallRecord | None:
    try:
        text = read_text(path, limit=FILE_LIMIT, within=ANYWHERE)
        return None if text is None else read(text)
    except (FileError, ValueError):
        return None


def _narrowing(own: EditedFile | None) -> WrittenKey | None:
    return next((key for key in own.keys if key.path == (ALLOWED,)), None) if own is not None else None


def _admits_gateway(settings: EntryFields, key: WrittenKey) -> bool:
    if not settings.is_list(ALLOWED):
        return False
    return key.value[0] in cast("list[Any]", dict(settings.items())[ALLOWED])
