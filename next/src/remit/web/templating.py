"""Renders templates: every value is escaped, and characters that nobody can see are written out."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from remit.cli import printable
from remit.text import local_time, one_line, plural, rounded
from remit.web import charts

_FOLDER = Path(__file__).parent
STATIC = _FOLDER / "static"

_COMMAND = re.compile(r"`(remit [^`\n]+)`")
_QUOTED = re.compile(r"`([^`\n]+)`")


@cache
def environment() -> Environment:
    """Make the environment of all templates."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters = cast("dict[str, Any]", made.filters)
    filters |= {
        "segment": segment,
        "cut": one_line,
        "number": number,
        "rounded": about,
        "plural": plural,
        "time": local_time,
        "commands": commands,
        "code": code,
        "sentence": sentence,
    }
    names = cast("dict[str, Any]", made.globals)
    names |= {
        "asset": asset,
        "link": link,
        "axis": charts.axis,
        "bars": charts.bars,
        "columns": charts.columns,
    }
    return made


def render(template: str, values: Mapping[str, object], block: str | None = None) -> str:
    """Render a template, or a block of it alone."""
    made = environment().get_template(template)
    if block is None:
        return made.render(values)
    return "".join(made.blocks[block](made.new_context(dict(values))))


def shown(value: object) -> object:
    """Write out the characters of a text that nobody can see: names and words come from any file."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return "" if value is None else value
    return "\n".join(map(printable, value.split("\n")))


def segment(text: str) -> str:
    """Quote a text as one segment of a path."""
    return quote(text, safe="", errors="replace")


def number(value: int | None) -> str:
    """Write a number with thousands separated; nothing if there is none."""
    return "" if value is None else f"{value:,}"


def about(tokens: int) -> str:
    """Write an estimate of tokens, rounded."""
    return number(rounded(tokens))


def asset(name: str) -> str:
    """Return the URL of a static file, which changes with its content."""
    return f"/static/{name}?v={_digest(name)}"


def link(path: str, params: Mapping[str, object], **changes: object) -> str:
    """Return the URL of a page with parameters, of which some are changed; an empty one is left out."""
    given = {name: str(value) for name, value in {**params, **changes}.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def commands(text: str | None) -> list[str]:
    """List the commands that a text tells to run."""
    return list(dict.fromkeys(_COMMAND.findall(text or "")))


def code(text: str | None) -> Markup:
    """Mark what is quoted in a text as code."""
    return Markup("").join(_marked(str(shown(text or ""))))


def sentence(text: str) -> Markup:
    """Write a line of a command as a sentence of a page."""
    text = text.strip()
    return code(f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '`')) else '.'}")


def _marked(text: str) -> Iterator[Markup]:
    for position, part in enumerate(_QUOTED.split(text)):
        yield Markup("<code>{}</code>").format(part) if position % 2 else escape(part)


@cache
def _digest(name: str) -> str:
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
