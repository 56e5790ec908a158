"""What must hold after every command in a hostile repository; each check returns what does not."""

import json
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from attacks.hostile_repositories import SECRETS, TOKEN, Victim
from attacks.worlds import BASH
from support.forked_commands import Done

SECONDS = 5.0  # of processor time
HOOK_SECONDS = 2.0
MEGABYTES = 300
CODES = {  # of all others: 0
    **dict.fromkeys(("why", "doctor", "policy", "search", "suggest"), (0, 1)),
    "prune": (0, 2),  # the personal file is not one to write to
}
WORDS = (*SECRETS.values(), TOKEN, "diary-of-a-tortoise")
# Controls, directional marks, zero-width characters, line separators, tags, halves of pairs.
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def command_failures(done: Done) -> Generator[str]:
    """What is wrong with how a command ended and with what it said."""
    name = done.words[0]
    if done.is_late:
        yield "did not end"
    elif done.seconds > (HOOK_SECONDS if name == "hook" else SECONDS):
        yield f"took {done.seconds:.1f} s"
    elif done.code not in CODES.get(name, (0,)):
        yield f"ended with {done.code}: {done.stderr[-500:]}"
    if done.megabytes > MEGABYTES:
        yield f"took {done.megabytes} MB"
    if "Traceback (most recent call last)" in done.stderr + done.stdout:
        yield f"showed a traceback: {done.stderr[-1500:]}"
    yield from _texts_failures(done)


def _texts_failures(done: Done) -> Generator[str]:
    for stream, text in (("stdout", done.stdout), ("stderr", done.stderr)):
        if found := UNSAFE.search(text.replace("\r\n", "\n")):
            around = text[max(0, found.start() - 60) : found.end() + 20]
            yield f"wrote {found[0]!r} to {stream}: {around!r}"
    if "--json" in done.words and not done.is_late and done.code != 2:
        try:
            json.loads(done.stdout)
        except ValueError as error:
            yield f"wrote no JSON: {error}: {done.stdout[:200]!r}"
    yield from (f"told a secret: {word}" for word in WORDS if word in done.stdout + done.stderr)


def act_failures(done: Done, victim: Victim) -> Generator[str]:
    """What a command did to the outside that it must not do."""
    for kind, event, *about in done.acts:
        if kind != "write":
            yield f"{event} {about}"
        for path in about if kind == "write" else ():
            is_own = path == str(victim.data.parent) or path.startswith(str(victim.data))
            if not path.isdecimal() and not is_own and path not in ("/dev/null", "/dev/tty"):
                yield f"changed {path} ({event})"


def answer_failures(done: Done) -> Generator[str]:
    """What is wrong with the answer to an event."""
    if not done.stdout:
        return
    try:
        said: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"]
    except (ValueError, KeyError, TypeError):
        yield f"answered {done.stdout[:300]!r}"
        return
    for key, text in said.items():
        if isinstance(text, str) and (found := UNSAFE.search(text)):
            around = text[max(0, found.start() - 60) : found.end() + 20]
            yield f"told the model {found[0]!r} in {key}: {around!r}"


def block_failures(done: Done) -> Generator[str]:
    """What is wrong with the answer to a call of Bash, which the user blocks."""
    yield from answer_failures(done)
    if '"deny"' not in done.stdout and '"ask"' not in done.stdout:
        yield f"let a blocked {BASH['tool_name']} through: {done.stdout!r}"


def world_failures(victim: Victim, before: Mapping[str, Sequence[object]]) -> Generator[str]:
    """What happened on the machine that must not happen."""
    yield from (f"started a program: {mark.name}" for mark in victim.marks.iterdir())
    if victim.was_reached():
        yield "opened a connection"
    after = victim.snapshot()
    changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    yield from (f"changed {path}" for path in sorted(changed)[:10])
    for word in WORDS:
        yield from (f"kept a secret in {path}: {word}" for path in victim.stored(word))


def labeled(done: Done, failures: Iterable[str]) -> list[str]:
    """Name the command in each of its failures."""
    words = " ".join(word if len(word) < 60 else f"{word[:60]}…" for word in done.words)
    return [f"remit {words!r}: {failure}" for failure in dict.fromkeys(failures)]
