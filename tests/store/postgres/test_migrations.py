"""The files of PostgreSQL's migrations, read without a database."""

import re
from pathlib import Path

from remit.store import database

MIGRATIONS = Path(database.SQL) / "postgres" / "migrations"
FIRST_WITH_A_PROMISE = 14
PROMISE = re.compile(r"-- Gateways that know schema \d+ can go on\.\n|-- Older gateways cannot go on\.\n")


def test_migrations_are_numbered_without_gaps_or_doubles() -> None:
    numbers = sorted(int(file.name[:4]) for file in MIGRATIONS.glob("*.sql"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_new_migration_says_first_whether_older_gateways_can_go_on() -> None:
    silent = [
        file.name
        for file in sorted(MIGRATIONS.glob("*.sql"))
        if int(file.name[:4]) >= FIRST_WITH_A_PROMISE and not PROMISE.match(file.read_text("utf-8"))
    ]
    assert silent == []
