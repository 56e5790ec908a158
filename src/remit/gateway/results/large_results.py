"""Keeps results that are too large for a model, and reads and searches them for it."""

import json
import secrets
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from anyio import to_thread

from remit.audit.audit_log import estimated_size
from remit.decision.decide import Decision, Verdict
from remit.decision.gates import Gate, NextStep
from remit.gateway.endpoint_catalog import CallTarget, EndpointCatalog
from remit.gateway.inventory import ResolvedCall
from remit.gateway.registry_worker import RegistryWorker
from remit.gateway.remit_tool_calls import BadArgumentsError, arguments_of, text_of
from remit.gateway.results.result_store import KeptResult, ResultStore
from remit.presentation.refusals import failure
from remit.presentation.remit_tools import OwnTool
from remit.presentation.results.excerpts import (
    BadReadError,
    Match,
    ReadRequest,
    excerpt,
    plain_matches,
    read_request,
    selected_text,
)
from remit.presentation.results.result_document import STRUCTURED, ResultDocument, document_of
from remit.presentation.results.result_limit import ALWAYS_FITS, RESULT_BUDGET, ResultLimit
from remit.presentation.results.shortened_result import IsValid, excerpt_answer, shortened
from remit.protocol.json_rpc import Answer, Params
from remit.text.json_values import as_list, as_object
from remit.upstream.ports import RequestContext

Resolve = Callable[[str], Awaitable[ResolvedCall]]
Refuse = Callable[[CallTarget, Decision], Answer]
_GONE = "It may be too old, or belong to another session: call its tool again."
SEARCH_SECONDS = 2.0
_MOST_MATCHES = 100_000
# A pattern can take forever, and nothing can interrupt it inside this process.
_SEARCH_SCRIPT = f"""
import json, re, sys
sys.set_int_max_str_digits(640)
asked = json.load(sys.stdin)
try:
    pattern = re.compile(asked["pattern"])
except (re.error, OverflowError, RecursionError) as error:
    sys.exit(json.dumps({{"problem": str(error)}}))
found = []
for number, line in enumerate(asked["text"].split("\\n")):
    match = pattern.search(line)
    if match is not None and len(found) < {_MOST_MATCHES}:
        found.append((number, match.start()))
print(json.dumps(found))
"""


class LargeResults:
    """Shortens large results of one endpoint, and answers `read_result`."""

    def __init__(self, store: ResultStore, resolve: Resolve, refuse: Refuse) -> None:
        self._store = RegistryWorker(store)
        self._resolve = resolve
        self._refuse = refuse

    async def shorten(
        self, answer: Answer, target: CallTarget, catalog: EndpointCatalog, caller: RequestContext
    ) -> Answer:
        """Return an answer, or if it is too large its beginning; the rest can be read.

        An answer that cannot be kept is returned whole: nothing is lost.
        """
        if _is_short_text(answer):
            return answer
        size = estimated_size(answer)
        if size <= ALWAYS_FITS or answer.get("resultType", "complete") != "complete":
            return answer
        limit = _limit(target, catalog)
        if limit.is_off or limit.surely_fits(size):
            return answer
        document = await to_thread.run_sync(_too_large, answer, limit)
        if document is None:
            return answer
        kept = KeptResult(
            id=secrets.token_hex(6),
            session=caller.session,
            principal=caller.principal,
            tool=target.tool.key,
            served=target.served,
            was_asked=target.decision.verdict is Verdict.ASK,
        )
        if not await self._store.run(ResultStore.keep, document, kept):
            return answer
        schema = _schema(target, catalog) if STRUCTURED in answer else None
        return await to_thread.run_sync(shortened, answer, document, kept.id, limit, schema)

    async def read(self, asked: Params, caller: RequestContext) -> Answer:
        """Read a part of a kept result, if its tool may still be called."""
        try:
            arguments = arguments_of(asked)
            result, wanted = text_of(arguments, "result"), read_request(arguments)
        except (BadArgumentsError, BadReadError) as error:
            return failure(f"`{OwnTool.READ}`: {error}")
        kept = await self._store.run(ResultStore.find, result, caller.session, caller.principal)
        if kept is None:
            return failure(f"Unknown result: {result}", _GONE)
        catalog, target = await self._resolve(kept.served)
        if target is None or target.tool.key != kept.tool or target.decision.gate is Gate.SCOPE:
            return failure(f"Unknown result: {result}", "Its tool is not available anymore.")
        if target.decision.verdict is Verdict.HIDDEN:
            return self._refuse(target, target.decision)
        if target.decision.verdict is Verdict.ASK and not kept.was_asked:
            again = NextStep(f"call `{target.served}` again, which requests approval")
            return self._refuse(target, replace(target.decision, next_step=again))
        document = await self._store.run(ResultStore.read, result)
        if document is None:
            return failure(f"Unknown result: {result}", _GONE)
        limit = _limit(target, catalog)
        limit = ResultLimit(tokens=RESULT_BUDGET) if limit.is_off else limit
        try:
            return await to_thread.run_sync(_read, document, wanted, limit, kept)
        except BadReadError as error:
            return failure(f"`{OwnTool.READ}`: {error}")

    async def leave(self, session: str) -> None:
        """Remove the results of a session."""
        await self._store.run(ResultStore.leave, session)


def _is_short_text(answer: Answer) -> bool:
    """Check whether an answer is one short text, as most are: to estimate its size takes longer."""
    blocks = as_list(answer.get("content"))
    if len(blocks) != 1 or STRUCTURED in answer:
        return False
    block = as_object(blocks[0])
    text = block.get("text")
    return block.get("type") == "text" and isinstance(text, str) and len(text) <= ALWAYS_FITS


def _limit(target: CallTarget, catalog: EndpointCatalog) -> ResultLimit:
    return catalog.plan.result_limit(target.tool, catalog.items.get(target.tool.key) or {})


def _too_large(answer: Answer, limit: ResultLimit) -> ResultDocument | None:
    document = document_of(answer)
    structured = answer.get(STRUCTURED)
    is_small = structured is None or limit.fits(json.dumps(structured, ensure_ascii=False))
    return None if is_small and limit.fits(document.text) else document


def _read(document: ResultDocument, asked: ReadRequest, limit: ResultLimit, kept: KeptResult) -> Answer:
    text = selected_text(document, asked.path).text
    found = excerpt(text, asked, limit, regex_matches if asked.is_regex else plain_matches)
    return excerpt_answer(found, kept.served, kept.id)


def _schema(target: CallTarget, catalog: EndpointCatalog) -> IsValid | None:
    definition = catalog.definitions.get(target.tool.key)
    if definition is None or definition.output_schema is None:
        return None
    return partial(_is_valid, definition.output_schema)


def _is_valid(schema: str, value: Any) -> bool:
    """Check a value against a schema; a schema with patterns counts as failed: they may take forever."""
    if '"pattern' in schema:
        return False
    from jsonschema.validators import validator_for  # takes long, and large structured results are rare
    from referencing import Registry

    try:
        parsed = json.loads(schema)
        return bool(validator_for(parsed)(parsed, registry=Registry()).is_valid(value))  # fetches nothing
    except Exception:  # the schema is the server's
        return False


def regex_matches(text: str, pattern: str) -> list[Match]:
    """Find the lines that match a regular expression.

    Raises:
        BadReadError: the pattern is invalid, or takes too long.
    """
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, with a fixed script
            [sys.executable, "-I", "-S", "-c", _SEARCH_SCRIPT],
            input=json.dumps({"pattern": pattern, "text": text}),
            capture_output=True,
            text=True,
            timeout=SEARCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadReadError(f"the pattern takes longer than {SEARCH_SECONDS:g} s: use a simpler one") from None
    if done.returncode:
        raise BadReadError(f"`search` is not a regular expression: {_pattern_problem(done.stderr)}")
    return [Match(*each) for each in json.loads(done.stdout)]


def _pattern_problem(output: str) -> str:
    try:
        return str(json.loads(output)["problem"])
    except (ValueError, KeyError):
        return "it cannot be used"
