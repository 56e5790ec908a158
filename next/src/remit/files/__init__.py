"""Reads strangers' files with bounds, edits JSON and TOML in place, writes safely, and waits for changes."""

# pyright: reportUnusedImport=false
TYPE_CHECKING = False  # type checkers recognize the name; importing `typing` takes time
if TYPE_CHECKING:
    from remit.files.changes import (
        FileChange,
        change_file,
        is_writable,
        missing_directories,
        observing,
        read_exactly,
        remove_empty,
    )
    from remit.files.edits import (
        Edit,
        EditedFile,
        Format,
        WrittenKey,
        apply_edits,
        are_in_place,
        put_back,
        without_edits,
    )
    from remit.files.fingerprints import (
        Fingerprints,
        fingerprint,
        look_at,
        take_fingerprints,
        wait_for_change,
    )
    from remit.files.formats import (
        parse_commented_json,
        parse_json,
        parse_jsonc,
        parse_toml,
        parse_yaml,
        split_front_matter,
    )
    from remit.files.git import (
        checkout_of,
        enclosing_roots,
        git_directory,
        index_path,
        is_tracked,
        link_in_checkout,
        link_roots,
        locate,
    )
    from remit.files.journal import ChangeJournal, JournalEntry, differences
    from remit.files.json_text import JsonText, Splice
    from remit.files.private_files import (
        ExposedFileError,
        file_lock,
        open_private,
        read_secret,
        try_lock,
        write_private,
    )
    from remit.files.reading import (
        ANYWHERE,
        FileError,
        Machine,
        is_inside,
        is_only_roots,
        read_bytes,
        read_part,
        read_start,
        read_text,
        real_path,
        require_text,
        this_machine,
    )
    from remit.files.toml_text import positions, remove_value, set_value, toml_value
    from remit.files.walking import (
        WalkBudget,
        Walked,
        WalkLimitError,
        WalkProblem,
        entries,
        files_below,
    )

_MODULES = {
    "changes": "FileChange change_file is_writable missing_directories observing read_exactly remove_empty",
    "edits": "Edit EditedFile Format WrittenKey apply_edits are_in_place put_back without_edits",
    "fingerprints": "Fingerprints fingerprint look_at take_fingerprints wait_for_change",
    "formats": "parse_commented_json parse_json parse_jsonc parse_toml parse_yaml split_front_matter",
    "git": "checkout_of enclosing_roots git_directory index_path is_tracked link_in_checkout link_roots"
    " locate",
    "journal": "ChangeJournal JournalEntry differences",
    "json_text": "JsonText Splice",
    "private_files": "ExposedFileError file_lock open_private read_secret try_lock write_private",
    "reading": "ANYWHERE FileError Machine is_inside is_only_roots read_bytes read_part read_start read_text"
    " real_path require_text this_machine",
    "toml_text": "positions remove_value set_value toml_value",
    "walking": "WalkBudget WalkLimitError WalkProblem Walked entries files_below",
}
_HOMES = {name: f"remit.files.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `remit.files` has no attribute `{name}`")
