"""A connection that gives up on a server that does not answer.

A stopped server, or one whose host is gone, is no error for libpq: a query would wait forever.
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

Result = TypeVar("Result")


class SilentServerError(psycopg.OperationalError):
    """The server does not answer."""


class AnsweringConnection(psycopg.Connection[Any]):
    """A connection that closes itself when the server is silent for too long."""

    longest_silence: float | None = None  # seconds; None: any
    is_down: Callable[[], bool] | None = None  # whether the database is known to be down

    def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
        """Wait for the end of a command.

        Raises:
            SilentServerError: the server does not answer.
        """
        try:
            return super().wait(self._watched(gen), *given, **named)
        except SilentServerError:
            self.close()
            raise

    @contextmanager
    def any_silence(self) -> Generator[None]:
        """Let commands take as long as they need."""
        before, self.longest_silence = self.longest_silence, None
        try:
            yield
        finally:
            self.longest_silence = before

    def _watched(self, command: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
        """Run a command of psycopg, which is resumed ten times a second while nothing arrives."""
        heard_at = time.monotonic()
        try:
            wanted = next(command)
            while True:
                ready = yield wanted
                if ready:
                    heard_at = time.monotonic()
                elif self._is_silent(heard_at):
                    raise SilentServerError("the database does not answer")
                wanted = command.send(ready)
        except StopIteration as ended:
            return ended.value

    def _is_silent(self, heard_at: float) -> bool:
        if self.is_down is not None and self.is_down():
            return True
        return self.longest_silence is not None and time.monotonic() - heard_at > self.longest_silence
