"""Files and folders that others write are read by the bounded reader and the bounded walk alone."""

from collections.abc import Iterator
from inspect import Parameter, signature

import pytest

from remit.files.bounded_reader import (
    content_digest,
    read_bytes,
    read_head,
    read_part,
    read_start,
    read_text,
)
from remit.files.bounded_walk import entries, files_below
from support.source_trees import SourceModule, source_modules

CALLS = {"open", "io.open", "os.open", "os.walk", "os.scandir", "os.listdir", "os.fwalk", "glob.glob"}
METHODS = {"read_text", "read_bytes", "iterdir", "glob", "rglob", "walk"}  # of paths
LIBRARIES = {"tomllib", "yaml"}
# The readers, and modules that read and write only what Remit itself keeps, ships or was handed open.
READERS = {"files/bounded_reader.py", "files/bounded_walk.py", "files/formats.py"}
OWN = {
    "cli/app.py": "replaces closed streams",
    "cli/memory_commands.py": "writes exports",
    "configuration/rule_edits.py": "parses what it is about to write",
    "demo/demo_server.py": "ships with Remit, and data that it wrote",
    "files/file_lock.py": "lock files",
    "files/private_files.py": "writes, and secrets in files of the user's own configuration",
    "approvals/answering_client.py": "/proc",
    "approvals/process_tree.py": "/proc",
    "files/safe_changes.py": "writes",
    "files/toml_edits.py": "parses what it is about to write",
    "gateway/results/result_store.py": "Remit's data",
    "gateway/transports/status_files.py": "Remit's data, and /proc",
    "gateway/transports/stdio_server.py": "replaces streams",
    "gateway/access/token_file.py": "Remit's data",
    "hooks/guarded_answer.py": "/dev/null and /proc",
    "hooks/hook_log.py": "Remit's data",
    "install/change_journal.py": "Remit's data",
    "install/recorded_environment.py": "the install record",
    "memory/memory_server.py": "ships with Remit",
    "files/write_queue.py": "Remit's data",
    "upstream/transports/process.py": "/proc",
    "gateway/call_records/call_journal.py": "Remit's data",
    "search/embeddings/token_sequences.py": "ships with Remit",
    "search/evaluation.py": "a folder that a person names",
    "settings.py": "a file that the user's variable names",
    "store/sqlite/sqlite_access.py": "Remit's data",
    "store/database.py": "ships with Remit",
    "store/postgres/postgres_schema.py": "ships with Remit",
    "store/sqlite/sqlite_database.py": "Remit's data",
    "upstream/launch/kernel_files.py": "/proc",
    "upstream/principal_credentials/credential_file.py": "Remit's data",
    "upstream/principal_credentials/credential_keys.py": "a file of the user's own configuration",
    "upstream/oauth/token_store.py": "Remit's data",
}
# Modules that follow links anywhere: theirs are files of the user, the administrator, the client or Remit.
ANYWHERE = {
    "cli/trust/inspect_command.py": "a file that a person names",
    "cli/memory_commands.py": "a file that a person names",
    "cli/team/team_commands.py": "a file that a person names",
    "clients/claude/settings_before_install.py": "settings of the user and administrator, install record",
    "clients/claude_code.py": "the user's settings",
    "clients/install_targets.py": "the user's settings",
    "clients/parsing/install_reading.py": "the install record",
    "configuration/configuration_service.py": "filter files, which the user names",
    "configuration/machine_files.py": "the user's and the administrator's configuration",
    "configuration/own_files.py": "the user's and the administrator's configuration",
    "configuration/store_place.py": "the user's and the administrator's configuration",
    "files/bounded_walk.py": "checks each entry itself",
    "files/checkout.py": "decides which files are the user's",
    "files/safe_changes.py": "its callers refuse links in a checkout",
    "hooks/agent_lineage.py": "the client's transcripts",
    "hooks/call_recovery.py": "the client's transcripts",
    "hooks/states_digest.py": "filter files, which the user names",
    "filters/filter_loader.py": "filter files, which the user names",
    "states/detectors/glob_count.py": "enters no links",
    "upstream/launch/bubblewrap.py": "packages in the home directory",
    "upstream/launch/installed_packages.py": "caches in the home directory",
    "upstream/launch/npx_packages.py": "caches in the home directory",
    "upstream/launch/private_places.py": "the user's directories, whose links it does not enter",
    "upstream/launch/protected_files.py": "enters no links",
    "upstream/launch/runtime_paths.py": "checks each link, or its callers do: which of them a sandbox opens",
}


def reads(module: SourceModule) -> Iterator[str]:
    """List what a module opens, lists or parses by itself."""
    yield from LIBRARIES & module.imported
    for owner, name in module.calls:
        full = name if owner is None else f"{owner}.{name}"
        if full in CALLS:
            yield full
        elif owner and name in METHODS and owner not in ("ast", "self"):
            yield f".{name}"


@pytest.mark.long
def test_nothing_but_the_readers_opens_lists_or_parses_foreign_files() -> None:
    found = {name: sorted({*reads(module)}) for name, module in source_modules().items()}
    assert {name: read for name, read in found.items() if read and name not in {*READERS, *OWN}} == {}
    assert [name for name in OWN if not found.get(name)] == []


def test_every_other_module_says_which_directory_links_must_not_leave() -> None:
    modules = source_modules()
    found = {
        name for name, module in modules.items() if "remit.files.bounded_reader.ANYWHERE" in module.imported
    }
    assert found == {*ANYWHERE}
    readers = (read_text, read_bytes, read_start, read_head, read_part, content_digest, entries, files_below)
    parameters = [signature(reader).parameters["within"] for reader in readers]
    assert all(parameter.default is Parameter.empty for parameter in parameters)
