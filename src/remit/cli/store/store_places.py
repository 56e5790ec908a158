"""Places of stores on the command line."""

import os

import click

from remit.configuration.store_place import is_address

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
