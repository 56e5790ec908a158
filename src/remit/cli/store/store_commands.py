"""`remit store`: sets up, migrates, copies, checks and prunes stores."""

import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import click

from remit.bootstrap import find_store, now, read_retention
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import ERRORS_FOUND, JSON, YES, confirm
from remit.configuration.file_paths import machine_path
from remit.configuration.store_place import is_address
from remit.files.bounded_reader import this_machine
from remit.store.open_store import open_database, require_driver
from remit.store.store_facts import shown_place

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from remit.store.maintenance.soundness import StoreCheck
    from remit.store.maintenance.store_copy import CopyResult
    from remit.store.maintenance.table_access import CopyTarget, TableAccess

_DAY = 86_400_000  # milliseconds
_FILE = "sqlite:"


def place_argument(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Read a place; the message omits the value, which may contain a password."""
    if value is None or is_address(value):
        return value
    if value.startswith(_FILE) and len(value) > len(_FILE):
        return os.path.abspath(os.path.expanduser(value.removeprefix(_FILE)))
    raise click.BadParameter("expected sqlite:PATH or postgresql://USER@HOST/DATABASE")


def address_argument(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Read the address of a PostgreSQL database."""
    if not is_address(place_argument(context, parameter, value) or ""):
        raise click.BadParameter("expected postgresql://USER@HOST/DATABASE")
    return value


@click.group()
def store() -> None:
    """Set up, copy, check and prune the store.

    A PLACE is sqlite:PATH or postgresql://USER@HOST/DATABASE. A password comes from ~/.pgpass, PGPASSWORD, a
    service file, or the file that ?password_file=PATH in the address names.
    """


@store.command("init")
@click.argument("url", callback=address_argument)
@click.option("--user", metavar="NAME", help="A user of the database that Remit will connect as; must exist.")
@click.option(
    "--admin", metavar="NAME", help="A user that may also change teams, tokens and trust; must exist."
)
@JSON
def init_store(url: str, *, user: str | None, admin: str | None, as_json: bool) -> None:
    """Create a shared store in a PostgreSQL database.

    URL is the address of an owner of the database. Creates the schema and two roles. With --user, a user may
    take the role remit_runtime: that of gateways, which cannot change teams, tokens and trust. With --admin,
    a user may also take remit_admin, which can. Running it again updates the schema, and restores the rights
    of both roles.
    """
    require_person("set up a store")
    require_driver()
    from remit.store.postgres.store_setup import set_up_store

    done = set_up_store(url, user, admin)
    if as_json:
        render.data(done._asdict())
        return
    place = render.printable(done.place)
    if done.before == done.schema:
        render.out(f"{place} was already set up (schema {done.schema}).")
    elif done.before:
        render.out(f"Updated {place} from schema {done.before} to {done.schema}.")
    else:
        render.out(f"Created a store in {place} (schema {done.schema}, role {done.role}).")
    if user is not None:
        render.out(f"{render.printable(user)} may use it.")
    if admin is not None:
        render.out(f"{render.printable(admin)} may administer it.")
    file = render.printable(machine_path(this_machine()))
    render.out(f"\nTo use it, put this line into {file} on each gateway:\n")
    render.out(f'  store = "{_with_user(place, user)}"')
    if admin is not None:
        render.out("\nand this one into the same file where you administer it:\n")
        render.out(f'  store_admin = "{_with_user(place, admin)}"')
    render.out(
        "\nFrom then on, Remit keeps everything of this user in the database, and no longer uses the trust,\n"
        "history and memory of the user's own store. To keep your own Remit as it is, run the gateway as\n"
        "another user, or set REMIT_HOME and REMIT_CONFIG to a directory and a file of the gateway's own."
    )


def _with_user(place: str, user: str | None) -> str:
    return place if user is None else place.replace("://", f"://{render.printable(user)}@", 1)


@store.command("migrate")
@click.argument("place", required=False, callback=place_argument)
@JSON
def migrate_store(place: str | None, *, as_json: bool) -> None:
    """Update the schema of a store to this version of Remit.

    Default: the configured store. Older versions of Remit cannot use it afterwards.
    """
    require_person("migrate a store")
    place = place or find_store().place
    with closing(open_database(place)) as database:
        schema = database.rows("schema_facts")[0][0]
    if as_json:
        render.data({"place": shown_place(place), "schema": schema})
    else:
        render.out(f"{render.printable(shown_place(place))} has schema {schema}.")


@store.command("copy")
@click.option(
    "--from",
    "source",
    metavar="PLACE",
    required=True,
    callback=place_argument,
    help="The store to copy; only read.",
)
@click.option(
    "--to",
    "target",
    metavar="PLACE",
    required=True,
    callback=place_argument,
    help="An empty store, or a new file.",
)
@JSON
def copy_store_command(*, source: str, target: str, as_json: bool) -> None:
    """Copy a store into an empty one, and verify the copy.

    Works between SQLite and PostgreSQL, in both directions. Stop gateways first: what is written during the
    copy may be missing, and then the command fails. After an interruption, the same command continues.
    Vectors for search are not copied; Remit makes them again.
    """
    require_person("copy a store")
    from remit.store.maintenance.store_copy import copy_store

    with _reading(source) as origin, closing(_writing(target)) as copied:
        done = copy_store(origin, copied, _show if sys.stderr.isatty() else lambda _name, _rows: None)
    if as_json:
        render.data(_copied(done))
        return
    rows = sum(table.rows for table in done.tables)
    again = " (continued)" if done.is_resumed else ""
    render.out(f"Copied {rows:,} rows in {len(done.tables)} tables{again}; all digests match.")
    filled = [(table.name, f"{table.rows:,}", table.digest[:12]) for table in done.tables if table.rows]
    render.table("", ("table", "rows", "digest"), filled, numbers=("rows",))


def _show(name: str, rows: int) -> None:
    sys.stderr.write(f"\r\x1b[K{name}: {rows:,}")
    sys.stderr.flush()


def _copied(done: "CopyResult") -> dict[str, object]:
    return {**done._asdict(), "tables": [table._asdict() for table in done.tables]}


def _reading(place: str) -> "AbstractContextManager[TableAccess]":
    if is_address(place):
        require_driver()
        from remit.store.postgres.postgres_access import read_whole_postgres

        return closing(read_whole_postgres(place))
    from remit.store.sqlite.sqlite_access import read_sqlite

    return closing(read_sqlite(place))


def _writing(place: str) -> "CopyTarget":
    if is_address(place):
        require_driver()
        from remit.store.postgres.postgres_access import write_postgres

        return write_postgres(place)
    from remit.store.sqlite.sqlite_access import NewSqliteFile

    return NewSqliteFile(place)


@store.command("check")
@click.argument("place", required=False, callback=place_argument)
@JSON
def check_store_command(place: str | None, *, as_json: bool) -> None:
    """Prove that a store is sound.

    Default: the configured store. Checks the schema, references between rows, the graph of memory and the
    digests of definitions; in PostgreSQL also the role and row-level security, in SQLite the file. Changes
    nothing. Exits with 1 if something is wrong.
    """
    from remit.store.maintenance.store_check import check_store

    place = place or find_store().place
    found = check_store(place)
    if as_json:
        render.data({"place": shown_place(place), "checks": [_check(each) for each in found]})
    else:
        _show_checks(place, found)
    if any(each.problems for each in found):
        sys.exit(ERRORS_FOUND)


def _check(check: "StoreCheck") -> dict[str, object]:
    return {"check": check.name, "is_sound": not check.problems, "problems": [*check.problems]}


def _show_checks(place: str, found: "list[StoreCheck]") -> None:
    render.out(render.printable(shown_place(place)))
    for check in found:
        render.out(f"  {'error' if check.problems else 'ok':5}  {check.name}: {_result(check)}")
        for problem in check.problems:
            render.out(f"         {render.printable(problem)}")


def _result(check: "StoreCheck") -> str:
    count = len(check.problems)
    return f"{count} problem{'s' * (count > 1)}" if count else check.result


@store.command("prune")
@click.argument("place", required=False, callback=place_argument)
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@YES
@JSON
def prune_store_command(place: str | None, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Delete records that are older than `[retention]` in remit.toml keeps them.

    Default: the configured store. In PostgreSQL, PLACE is the address of the store's owner: only an owner can
    delete from the audit log, by whole months. `remit audit verify` still checks the rest, and shows how much
    was deleted. Totals of usage stay.
    """
    require_person("delete records")
    from remit.store.maintenance.store_prune import old_records, prune_store

    place, kept, at = place or find_store().place, read_retention(), now()
    found = [each for each in old_records(place, kept, at) if each.rows]
    if as_json:
        render.data(
            {
                "place": shown_place(place),
                "days": {"audit": kept.audit // _DAY, "usage": kept.usage // _DAY},
                "records": [each._asdict() for each in found],
                "is_dry_run": dry_run,
            }
        )
    elif not found:
        render.out("Nothing is older than it is kept.")
    else:
        render.table(
            "", ("records", "rows"), [(each.name, f"{each.rows:,}") for each in found], numbers=("rows",)
        )
    if dry_run or not found:
        return
    total = sum(each.rows for each in found)
    confirm(f"Delete {total:,} records from {render.printable(shown_place(place))}?", yes=yes)
    prune_store(place, kept, at)
    if not as_json:
        render.out(f"Deleted {total:,} records.")
