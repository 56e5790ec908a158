"""Width and colors of output: those of the terminal; elsewhere 80 columns without colors."""

import os
import shutil
import sys

import click

WIDTH = 80  # columns where there is no terminal, so the text is the same everywhere


def columns() -> int:
    """Return the width to fit; `COLUMNS` sets it."""
    if sys.stdout.isatty():
        return shutil.get_terminal_size((WIDTH, 0)).columns
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) else WIDTH


def styled(text: str, **style: bool | str) -> str:
    """Style a text on a terminal that shows colors."""
    has_colors = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return click.style(text, **style) if has_colors and text.strip() else text  # pyright: ignore[reportArgumentType] - click types each option


def shortened(text: str, width: int) -> str:
    """Cut the middle out of a path that is too long."""
    if len(text) <= width:
        return text
    tail = max(width // 2, 1)
    return f"{text[: max(width - tail - 3, 0)]}...{text[-tail:]}"[-max(width, 1) :]
