"""Judgements: decisions about calls, recalled where all that they go by is unchanged.

A hook decides before every call, and loading what decides takes ten times as long as recalling. Of a decision
that goes by states, those are looked at each time, and what was decided when they were the same is recalled.
"""

import json
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.client_reports import ClientCall
from remit.decision.gates import Basis, Gate
from remit.decision.views import Flags
from remit.errors import StoreError
from remit.hooks.quick_store import CLIENT, Here, fingerprints, now, visiting
from remit.store.database import seen_from

if TYPE_CHECKING:
    from remit.decision.decide import Decision

_KEPT_FOR = 30 * 24 * 3_600_000  # milliseconds
_MOST_ANSWERS = 8  # about one call, each for other states
_NOTHING = "[[], null]"  # to be watched


class Judgement(NamedTuple):
    """What becomes of a call: `visible`, `ask` or `hidden`, and why."""

    verdict: str
    reason: str
    unlock: str | None
    gate: str | None = None


def judge(call: ClientCall, directory: str, *, is_headless: bool = False, client: str = CLIENT) -> Judgement:
    """Decide about a call; what was decided before on the same grounds is recalled.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    flags = Flags(is_headless=is_headless)
    with visiting(directory, client) as here:
        known = _recall(call, _grounds(call, here, flags), here, flags)
        before = None if known is None else _reading(known.watch, here)
        if known is not None and before in known.answers:
            return Judgement(*known.answers[before])
        from remit.bootstrap import open_registry

        with open_registry() as registry:
            context = registry.at(directory, client, is_headless=is_headless)
            registry.refresh(context)
            mark = _grounds(call, here, flags)
            decision, watch = registry.judge(call, context)
        judged = _judged(decision)
        if watch is not None and mark is not None and mark == _grounds(call, here, flags):
            with suppress(StoreError):  # it is known, though it cannot be kept
                _keep(_with(known, mark, json.dumps(watch), before, judged, here), call, here, flags)
        return judged


class _Kept(NamedTuple):
    """What is kept of decisions about a call."""

    mark: str  # of all that they go by, but the states
    watch: str  # what of those they go by, as JSON
    answers: dict[str | None, Judgement]  # by what the states were


def _recall(call: ClientCall, mark: str | None, here: Here, flags: Flags) -> _Kept | None:
    subject = _subject(call, here, flags)
    found = [] if mark is None else here.database.rows("judgement", **subject, mark=mark)
    if mark is None or not found:
        return None
    watch, answers = json.loads(found[0][0])
    return _Kept(mark, watch, {state: Judgement(*answer) for state, answer in answers.items()})


def _with(
    known: _Kept | None, mark: str, watch: str, before: str | None, judged: Judgement, here: Here
) -> _Kept:
    """Add an answer to what is kept, if the states were the same before it was found and after."""
    is_same = known is not None and (known.mark, known.watch) == (mark, watch)
    answers = dict(known.answers) if known is not None and is_same else {}
    after = _reading(watch, here)
    if watch == _NOTHING or (is_same and before is not None and before == after):
        answers[after] = judged
    return _Kept(mark, watch, dict([*answers.items()][-_MOST_ANSWERS:]))


def _reading(watch: str, here: Here) -> str | None:
    """Give a mark of the states that a decision goes by."""
    if watch == _NOTHING:
        return ""
    from remit.hooks.state_reading import reading
    from remit.states.state_watch import read_watch

    return reading(read_watch(json.loads(watch)), here.database, here.workspace, here.machine, now())


def _subject(call: ClientCall, here: Here, flags: Flags) -> dict[str, str]:
    subject = json.dumps([here.client, flags.key, *call])
    place = {"workspace": here.workspace.dir, "project": here.workspace.project.hash}
    return {"subject": subject, **place}


def _grounds(call: ClientCall, here: Here, flags: Flags) -> str | None:
    """Give a mark of all that the decision about a call goes by; None where a file has changed since."""
    from remit import __version__

    if not here.is_scanned(flags):
        return None
    grounds = [__version__, here.machine.home, *(_MARKS[basis](call, here, flags) for basis in _BASES)]
    return sha256(json.dumps(grounds).encode()).hexdigest()


def _catalog_mark(call: ClientCall, here: Here, flags: Flags) -> object:
    names = json.dumps(call.names)
    place = seen_from(here.workspace)
    return here.database.rows("facts_about", client=here.client, flags=flags.key, names=names, **place)


def _configuration_mark(_call: ClientCall, here: Here, _flags: Flags) -> object:
    trusted = here.database.rows("trusted_parts", project=here.workspace.project.hash)
    return [fingerprints(here), trusted]


_MARKS = {Basis.CATALOG: _catalog_mark, Basis.CONFIGURATION: _configuration_mark}
# Whatever a gate depends on is part of the mark; the states are watched instead.
_BASES = sorted({basis for gate in Gate for basis in gate.bases} - {Basis.STATES})


def _judged(decision: "Decision") -> Judgement:
    gate = None if decision.gate is None else decision.gate.value
    return Judgement(decision.verdict.value, decision.reason, decision.unlock, gate)


def _keep(kept: _Kept, call: ClientCall, here: Here, flags: Flags) -> None:
    at = now()
    answer = json.dumps([kept.watch, kept.answers])
    with here.database.transaction():
        here.database.run("forget_judgements", before=at - _KEPT_FOR)
        here.database.run(
            "keep_judgement", **_subject(call, here, flags), mark=kept.mark, answer=answer, at=at
        )
