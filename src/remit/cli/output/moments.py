"""Times on the command line: so long ago, or a date."""

import re
import time
from datetime import datetime

import click

_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class Moment(click.ParamType[int]):
    """A time: so long ago, such as `90m`, `6h`, `2d` and `1w`, or a date with or without a time."""

    name = "time"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,6})([mhdw])", value)
        if found:
            return int(1000 * (time.time() - int(found[1]) * _SECONDS[found[2]]))
        try:
            return int(1000 * datetime.fromisoformat(value).astimezone().timestamp())
        except (ValueError, OverflowError):
            self.fail(
                f"`{value}` must be so long ago, such as `90m` or `2d`, or a date such as `2026-01-31`",
                param,
                ctx,
            )
