"""Calls a function with JSON from stdin, and writes its result: `... call_function MODULE:FUNCTION`."""

import asyncio
import json
import sys
from contextlib import redirect_stdout
from importlib import import_module
from inspect import isawaitable

from remit.errors import RemitError
from remit.python_tools.decorators import options_of
from remit.python_tools.function_tools import define, result_text


def main() -> None:
    """Call the function named by the first argument; its prints go to stderr."""
    module, _, name = sys.argv[1].partition(":")
    given = json.load(sys.stdin)
    try:
        with redirect_stdout(sys.stderr):
            function = getattr(import_module(module), name)
            made = define(function, options_of(function)).run(given)
            made = asyncio.run(_awaited(made)) if isawaitable(made) else made
    except RemitError as error:
        sys.exit(str(error))
    sys.stdout.write(result_text(made))


async def _awaited(made: object) -> object:
    return await made if isawaitable(made) else made


if __name__ == "__main__":
    main()
