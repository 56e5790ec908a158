"""Names the extra that installs the packages of a framework, where they are missing."""

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def packages_of(extra: str) -> Generator[None]:
    """Import the packages of an extra.

    Raises:
        ImportError: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the package `{error.name}` is not installed; run `pip install 'remit[{extra}]'`",
            name=error.name,
        ) from error
