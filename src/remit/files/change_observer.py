"""Reports each change of a file to the command that makes it, so the command can record how to undo it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class ObservedChange(NamedTuple):
    """A file that is about to be replaced; None means no file."""

    path: str  # where links lead to
    before: str | None
    after: str | None
    made: tuple[str, ...] = ()  # directories that will be created, innermost first


Observer = Callable[[ObservedChange], None]

_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observing(observer: Observer) -> Generator[None]:
    """Report all changes made inside the block to an observer."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def report(change: ObservedChange) -> None:
    """Report a change, just before it is made."""
    observer = _observer.get()
    if observer is not None:
        observer(change)
