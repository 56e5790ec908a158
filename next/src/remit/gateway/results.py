"""Results that are too large for a model: it gets the beginning, and reads or searches the rest.

The text of each is in a file without a name, which is gone with the process, however that ends. Structured
content is shortened so that it still satisfies its tool's output schema: clients check it and reject what
does not match, and some show a model nothing else.
"""

import json
import re
import secrets
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import accumulate, islice
from typing import IO, Any, NamedTuple, cast

from remit.decision import CALL_TOOL, READ_RESULT, Key
from remit.protocol import Answer
from remit.text import as_list, as_object, estimate

META = "remit/result"
RESULT_BUDGET = 10_000  # tokens; clients cut or warn from here on
ALWAYS_FITS = 200  # characters
PER_SESSION, IN_ALL = 64 * 2**20, 256 * 2**20  # bytes
MOST_KEPT = 256  # results, each an open file
LIFETIME = 3_600_000  # milliseconds since it was last read
_LARGEST_DECLARED = 500_000  # characters that a tool may declare for itself, as in Claude Code
_DECLARED = "anthropic/maxResultSizeChars"
_STRUCTURED = "structuredContent"
_NOTE = "remit_note"
_LONG_LINE = 2_000  # characters
_STRING_OR_GAP = re.compile(r'"(?:[^"\\]|\\.)*"|[}\]],(?!\n)')
_AROUND = 200  # characters on each side of a match in a long line
_MOST_MATCHES = 1_000
_LONGEST_SEARCH = 1_000  # characters
_FOR_THE_NOTE = 0.9  # the share of a limit that is left beside our own words
_LEAST_MEMBERS = 30  # of an object, which usually needs all of them
_DEEPEST = 50
# The most items of an array and characters of a text, from mild to strong.
_CUTS = ((1_000, 20_000), (300, 8_000), (100, 4_000), (30, 1_000), (10, 300), (3, 100), (1, 40))

IsValid = Callable[[Any], bool]


class BadReadError(ValueError):
    """A request to read a result is invalid."""


class Limit(NamedTuple):
    """How large a result may be for a model."""

    most: float
    in_characters: bool = False

    def __str__(self) -> str:
        return f"{self.most:,.0f} {'characters' if self.in_characters else 'tokens'}"

    def fits(self, text: str) -> bool:
        """Return whether a text is within the limit; a long one costs a token for 25 bytes at least."""
        if self.in_characters:
            return len(text) <= self.most
        return len(text) <= self.most * 25 and estimate(text) <= self.most

    def longest(self, text: str) -> int:
        """Return how many characters of a text fit, from its beginning."""
        low, high = 0, min(len(text), int(self.most * 25)) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.fits(text[:middle]) else (low, middle)
        return low


def limit_of(budget: int | None, item: Mapping[str, Any]) -> Limit | None:
    """Return the limit of a tool's results: what it declares for itself, or the budget; None if that is 0."""
    if budget == 0:
        return None
    declared = as_object(item.get("_meta")).get(_DECLARED)
    if type(declared) is int and declared > 0:
        return Limit(min(max(declared, _LONG_LINE), _LARGEST_DECLARED), in_characters=True)
    return Limit(budget or RESULT_BUDGET)


class Kept(NamedTuple):
    """A result that is kept, without its content."""

    id: str
    session: str
    caller: str | None
    tool: Key
    served: str  # the name that it was called by
    was_asked: bool  # the call needed approval, and got it


class ReadRequest(NamedTuple):
    """What to read of a result."""

    line: int | None = None  # from 1
    offset: int | None = None  # characters from the beginning
    limit: int | None = None  # the most lines
    search: str | None = None


class _File(NamedTuple):
    kept: Kept
    file: IO[bytes]
    size: int
    used_at: int


class Results:
    """The large results of a process; any thread may use them, one at a time."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._files: dict[str, _File] = {}  # least recently used first

    def shorten(
        self, answer: Answer, kept: Kept, limit: Limit, schema: Mapping[str, Any] | None = None
    ) -> Answer:
        """Return an answer, or if it is too large its beginning; if that cannot be done, nothing is lost."""
        text = _text_of(answer)
        structured = answer.get(_STRUCTURED)
        is_small = structured is None or limit.fits(json.dumps(structured, ensure_ascii=False))
        if is_small and limit.fits(text):
            return answer
        part: object = None
        if structured is not None and schema is not None:
            part = _shortened(structured, _left_out(text, kept.id), limit, partial(_is_valid, schema))
            if part is None:
                return answer
        if not self._keep(text, kept):
            return answer
        media = [block for block in as_list(answer.get("content")) if _is_media(block)]
        opening = f"Remit kept this result, which is over the limit of {limit}: {_size(text)}."
        reading = f"Read on with {_how(kept.id)} and `line`, `offset` or `search`."
        beginning = _range(text, 0, None, Limit(limit.most * _FOR_THE_NOTE - 100, limit.in_characters))
        note = "\n".join([opening, reading, f"The beginning follows. {beginning[0]}"])
        told = {"result": kept.id, "lines": text.count("\n") + 1, "tokens": estimate(text)}
        shortened = {name: value for name, value in answer.items() if name != _STRUCTURED}
        if part is not None:
            shortened[_STRUCTURED] = part
        meta = {**as_object(answer.get("_meta")), META: told}
        return {**shortened, "content": [_block(note), _block(beginning[1]), *media], "_meta": meta}

    def find(self, id: str, session: str, caller: str | None) -> Kept | None:
        """Find a result that was kept for this session and caller."""
        self._drop_old()
        found = self._files.get(id)
        return None if found is None or found.kept[1:3] != (session, caller) else found.kept

    def read(self, kept: Kept, request: ReadRequest, limit: Limit | None) -> Answer:
        """Read a part of a kept result.

        Raises:
            BadReadError: there is no such part.
        """
        found = self._files.pop(kept.id)
        self._files[kept.id] = found._replace(used_at=self._clock())
        found.file.seek(0)
        text = found.file.read().decode()
        note, part = _excerpt(text, request, limit or Limit(RESULT_BUDGET))
        told = _block(f"From the result `{kept.id}` of `{kept.served}`. {note}")
        return {"content": [told, _block(part)] if part else [told]}

    def leave(self, session: str) -> None:
        """Remove the results of a session."""
        for found in [*self._files.values()]:
            if found.kept.session == session:
                self._drop(found)

    def close(self) -> None:
        """Remove all results."""
        for found in [*self._files.values()]:
            self._drop(found)

    def _keep(self, text: str, kept: Kept) -> bool:
        import tempfile  # it loads much, and few results are large

        data = text.encode(errors="replace")
        self._drop_old()
        if len(data) > PER_SESSION:
            return False
        self._make_room(len(data), kept.session)
        try:
            file = tempfile.TemporaryFile()  # noqa: SIM115 - kept open
            file.write(data)
            file.flush()
        except OSError:
            return False
        self._files[kept.id] = _File(kept, file, len(data), self._clock())
        return True

    def _make_room(self, size: int, session: str) -> None:
        """Drop the least recently used results until one of this size fits."""
        own = sum(found.size for found in self._files.values() if found.kept.session == session)
        total, count = sum(found.size for found in self._files.values()), len(self._files)
        for found in [*self._files.values()]:
            is_own = found.kept.session == session
            if (is_own and own + size > PER_SESSION) or total + size > IN_ALL or count >= MOST_KEPT:
                own, total, count = own - found.size * is_own, total - found.size, count - 1
                self._drop(found)

    def _drop_old(self) -> None:
        oldest = self._clock() - LIFETIME
        for found in [*self._files.values()]:
            if found.used_at < oldest:
                self._drop(found)

    def _drop(self, found: _File) -> None:
        del self._files[found.kept.id]
        with suppress(OSError):
            found.file.close()


def new_id() -> str:
    """Make the id of a result, which nobody can guess."""
    return secrets.token_hex(6)


def read_request(arguments: Mapping[str, Any]) -> ReadRequest:
    """Read the arguments of `read_result`, except which result.

    Raises:
        BadReadError: an argument is invalid.
    """
    search = arguments.get("search")
    if search is not None and not (isinstance(search, str) and 0 < len(search) <= _LONGEST_SEARCH):
        raise BadReadError(f"`search` must be a text of at most {_LONGEST_SEARCH:,} characters")
    request = ReadRequest(
        _whole(arguments, "line", 1), _whole(arguments, "offset", 0), _whole(arguments, "limit", 1), search
    )
    if request.line is not None and request.offset is not None:
        raise BadReadError("use `line` or `offset`, not both")
    return request


def _whole(arguments: Mapping[str, Any], key: str, least: int) -> int | None:
    value = arguments.get(key)
    if value is None or (type(value) is int and value >= least):
        return value
    raise BadReadError(f"`{key}` must be a whole number of at least {least}")


def _text_of(answer: Answer) -> str:
    """Return the text that a model would read, without media; structured content if no text repeats it."""
    blocks = [block for block in as_list(answer.get("content")) if not _is_media(block)]
    text = "\n".join(map(_block_text, blocks))
    structured = answer.get(_STRUCTURED)
    if structured is not None and not _repeats(structured, text):
        text = "\n".join(filter(None, (text, json.dumps(structured, ensure_ascii=False, indent=1))))
    if text.lstrip()[:1] in ("{", "[") and max(map(len, text.split("\n"))) > _LONG_LINE:
        # JSON gets its items on lines of their own, so lines can be read and searched.
        return _STRING_OR_GAP.sub(lambda found: found[0] if found[0][0] == '"' else f"{found[0]}\n", text)
    return text


def _repeats(structured: object, text: str) -> bool:
    try:
        said: object = json.loads(text) if text.lstrip()[:1] in ("{", "[") else text
    except (ValueError, RecursionError):
        said = text
    return any(said == value for value in (structured, *as_object(structured).values()))


def _is_media(block: object) -> bool:
    """Return whether a content block is not text, so its size says nothing about tokens."""
    fields = as_object(block)
    return fields.get("type") in ("image", "audio") or "blob" in as_object(fields.get("resource"))


def _block_text(block: object) -> str:
    """Return the text of a content block; a link or an unknown block is written as JSON."""
    fields = as_object(block)
    text = (
        fields.get("text") if fields.get("type") == "text" else as_object(fields.get("resource")).get("text")
    )
    return text if isinstance(text, str) else json.dumps(block, ensure_ascii=False)


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _size(text: str) -> str:
    return f"{len(text):,} characters, {text.count(chr(10)) + 1:,} lines, about {estimate(text):,} tokens"


def _how(id: str) -> str:
    return f'`{READ_RESULT}` (through `{CALL_TOOL}` if it is not listed): `result` = "{id}"'


def _left_out(text: str, id: str) -> str:
    return f"cut by Remit: {_size(text)}; read on with {_how(id)}"


def _excerpt(text: str, request: ReadRequest, limit: Limit) -> tuple[str, str]:
    """Return what a part of a text is, and the part, within the limit."""
    room = limit._replace(most=limit.most * _FOR_THE_NOTE)
    if request.search is not None:
        return _matches(text, request, request.search, room)
    start = request.offset or 0
    if request.line is not None:
        starts = _line_starts(text)
        if request.line > len(starts):
            raise BadReadError(f"`line` is after the end: there are {len(starts):,} lines")
        start = starts[request.line - 1]
    elif start >= len(text) > 0:
        raise BadReadError(f"`offset` is after the end: there are {len(text):,} characters")
    return _range(text, start, request.limit, room)


def _range(text: str, start: int, most_lines: int | None, limit: Limit) -> tuple[str, str]:
    starts = _line_starts(text)
    first = bisect_right(starts, start)
    end = start + max(1, limit.longest(text[start:]))
    if most_lines is not None and first - 1 + most_lines < len(starts):
        end = min(end, starts[first - 1 + most_lines])
    end = _at_line_end(text, start, end)
    last = bisect_right(starts, max(start, end - 1))
    lines = f"Lines {first:,} to {last:,}" if last > first else f"Line {first:,}"
    note = f"{lines} of {len(starts):,}"
    if start > starts[first - 1] or (end < len(text) and text[end - 1 : end] != "\n"):
        note += f", characters {start:,} to {end:,} of {len(text):,}"
    if end >= len(text):
        return f"{note} (the end).", text[start:]
    is_whole_line = last < len(starts) and end == starts[last]
    following = f"`line` = {last + 1}" if is_whole_line else f"`offset` = {end}"
    return f"{note}. Continue with {following}.", text[start:end]


def _matches(text: str, request: ReadRequest, words: str, limit: Limit) -> tuple[str, str]:
    lines = text.split("\n")
    found = [*_found(lines, words)]
    wanted = [match for match in found if match[0] >= (request.line or 1) - 1]
    shown: list[str] = []
    for number, column in wanted[: min(request.limit or _MOST_MATCHES, _MOST_MATCHES)]:
        line = f"{number + 1}: {_around(lines[number], column)}"
        if shown and not limit.fits("\n".join([*shown, line])):
            break
        shown.append(line[: limit.longest(line)])
    note = f"{len(found):,} matching {'line' if len(found) == 1 else 'lines'} of {len(lines):,}."
    if len(shown) < len(wanted):
        following = wanted[len(shown)][0] + 1
        note += f" Shown: {len(shown):,}. Continue with `line` = {following} and the same search."
    return note, "\n".join(shown)


def _found(lines: list[str], words: str) -> Iterator[tuple[int, int]]:
    """Find a text, whatever its case: the number of each line from 0, and where it begins there."""
    wanted = words.casefold()
    for number, line in enumerate(lines):
        at = line.casefold().find(wanted)
        if at >= 0:
            yield number, min(at, len(line))


def _around(line: str, column: int) -> str:
    """Return a line, or in a long line what is around a match."""
    if len(line) <= 2 * _AROUND:
        return line
    first, last = max(0, column - _AROUND), column + _AROUND
    return ("…" if first else "") + line[first:last] + ("…" if last < len(line) else "")


def _line_starts(text: str) -> list[int]:
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines[:-1])]
    return starts[:-1] if len(starts) > 1 and not lines[-1] else starts


def _at_line_end(text: str, start: int, end: int) -> int:
    """Move an end back to the end of a line, unless that loses more than half."""
    if end >= len(text):
        return len(text)
    line_end = text.rfind("\n", start, end) + 1
    return line_end if line_end - start > (end - start) // 2 else end


def _shortened(value: Any, note: str, limit: Limit, is_valid: IsValid) -> object | None:
    """Return a shortened copy that is valid and says what is left out; None if there is none."""
    for items, characters in _CUTS:
        cut = _Cut(items, characters, note)
        part: object = cut.of(value)
        if not limit.fits(json.dumps(part, ensure_ascii=False)):
            continue
        members = as_object(part)
        noted = {**members, _NOTE: note}
        if members and is_valid(noted):
            return noted
        if cut.is_noted and is_valid(part):
            return part
    return None


class _Cut:
    """Shortens the arrays and texts of one value, and notes where."""

    def __init__(self, items: int, characters: int, note: str) -> None:
        self._items = items
        self._characters = characters
        self._note = note
        self.is_noted = False  # a text inside says that something is left out

    def of(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, str):
            if len(value) <= self._characters + len(self._note):
                return value
            self.is_noted = True
            return f"{value[: self._characters]}… [{self._note}]"
        if depth > _DEEPEST:
            return value
        if isinstance(value, list):
            return self._array(cast("list[Any]", value), depth)
        if not isinstance(value, Mapping):
            return value
        members = cast("Mapping[str, Any]", value).items()
        most = max(self._items, _LEAST_MEMBERS)
        cut: dict[str, Any] = {name: self.of(member, depth + 1) for name, member in islice(members, most)}
        return cut

    def _array(self, value: list[Any], depth: int) -> list[Any]:
        kept = [self.of(item, depth + 1) for item in value[: self._items]]
        if len(value) > self._items and all(isinstance(item, str) for item in kept):
            self.is_noted = True
            kept.append(f"[{self._note}]")
        return kept


def _is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    """Check a value against a schema; one with patterns counts as failed: they may take forever."""
    if '"pattern' in json.dumps(schema):
        return False
    from jsonschema.validators import validator_for  # takes long, and large structured results are rare
    from referencing import Registry

    try:
        validator: Any = validator_for(schema)(schema, registry=Registry())  # fetches nothing
        return bool(validator.is_valid(value))
    except Exception:  # the schema is the server's
        return False
