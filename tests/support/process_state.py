"""What a process has one of: streams, arguments, environment, working directory."""

import os
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


class Streams:
    """The standard streams of a command that runs in this process."""

    def __init__(self, stdin: str) -> None:
        self._output, self._errors = BytesIO(), BytesIO()
        self.stdin = TextIOWrapper(BytesIO(stdin.encode()), encoding="utf-8")
        self.stdout = TextIOWrapper(self._output, encoding="utf-8", write_through=True)
        self.stderr = TextIOWrapper(self._errors, encoding="utf-8", write_through=True)

    @property
    def output(self) -> str:
        return self._output.getvalue().decode()

    @property
    def errors(self) -> str:
        return self._errors.getvalue().decode()


@contextmanager
def process_state(
    environment: Mapping[str, str], directory: Path, stdin: str, arguments: Sequence[str]
) -> Generator[Streams]:
    """Give this process another state, and restore its own at the end."""
    streams = Streams(stdin)
    own = sys.stdin, sys.stdout, sys.stderr, sys.argv
    variables, started_in = dict(os.environ), os.getcwd()
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    _set_variables(environment)
    os.chdir(directory)
    sys.stdin, sys.stdout, sys.stderr, sys.argv = streams.stdin, streams.stdout, streams.stderr, [*arguments]
    try:
        yield streams
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv = own
        os.chdir(started_in)
        _set_variables(variables)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _set_variables(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)
