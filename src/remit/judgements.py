"""Judgements: decisions about calls, recalled where all that they go by is unchanged.

A hook decides before every call, and loading what decides takes ten times as long as recalling.
"""

import json
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from remit.adapters.storage.database import seen_from
from remit.core.sightings import Call
from remit.core.views import Flags
from remit.errors import StoreError
from remit.hot_paths import CLIENT, Here, fingerprints, now, visiting

if TYPE_CHECKING:
    from remit.core.decide import Decision

_KEPT_FOR = 30 * 24 * 3_600_000  # milliseconds


class Judgement(NamedTuple):
    """What becomes of a call: `visible`, `ask` or `hidden`, and why."""

    verdict: str
    reason: str
    unlock: str | None


def judge(call: Call, directory: str, *, is_headless: bool = False, client: str = CLIENT) -> Judgement:
    """Decide about a call; what was decided before on the same grounds is recalled.

    Raises:
        BadVariableError: a variable that names a directory cannot be used.
        NoSuchDirectoryError: there is no such directory.
        StoreError: the database cannot be used.
    """
    flags = Flags(is_headless=is_headless)
    with visiting(directory, client) as here:
        mark, subject = _grounds(call, here, flags), _subject(call, here, flags)
        if mark is not None and (found := here.database.rows("judgement", **subject, mark=mark)):
            return Judgement(*json.loads(found[0][0]))
        from remit.bootstrap import open_registry

        with open_registry() as registry:
            context = registry.at(directory, client, is_headless=is_headless)
            registry.refresh(context)
            mark = _grounds(call, here, flags)
            decision, is_lasting = registry.judge(call, context)
        judged = _judged(decision)
        if is_lasting and mark is not None and mark == _grounds(call, here, flags):
            with suppress(StoreError):  # it is known, though it cannot be kept
                _keep(judged, call, mark, here, flags)
        return judged


def _subject(call: Call, here: Here, flags: Flags) -> dict[str, str]:
    subject = json.dumps([here.client, flags.key, *call])
    place = {"workspace": here.workspace.dir, "project": here.workspace.project.hash}
    return {"subject": subject, **place}


def _grounds(call: Call, here: Here, flags: Flags) -> str | None:
    """Give a mark of all that the decision about a call goes by; None where a file has changed since."""
    from remit import __version__

    if not here.is_scanned(flags):
        return None
    facts = here.database.rows(
        "facts_about",
        client=here.client,
        flags=flags.key,
        names=json.dumps(call.names),
        **seen_from(here.workspace),
    )
    trusted = here.database.rows("trusted_parts", project=here.workspace.project.hash)
    grounds = [__version__, here.machine.home, fingerprints(here), trusted, facts]
    return sha256(json.dumps(grounds).encode()).hexdigest()


def _judged(decision: "Decision") -> Judgement:
    return Judgement(decision.verdict.value, decision.reason, decision.unlock)


def _keep(judged: Judgement, call: Call, mark: str, here: Here, flags: Flags) -> None:
    at = now()
    with here.database.transaction():
        here.database.run("forget_judgements", before=at - _KEPT_FOR)
        here.database.run(
            "keep_judgement", **_subject(call, here, flags), mark=mark, answer=json.dumps(judged), at=at
        )
