"""A server's list on its way to the store: digests, inspection, and what is accepted at first sight.

Making and inspecting a list takes seconds if it is long, and needs no database, so any thread can do both.
Keeping it takes milliseconds.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import unquote

from remit.decision import REMIT, Declaration, Definition, Offer, Scope, Workspace
from remit.store import KnownList, PreparedDefinition, Store, make_definition
from remit.text import as_object
from remit.trust.inspection import HIGH, Finding, Inspector, OtherTools, has_high, read_findings, told
from remit.trust.pins import pin_of

FIRST_SIGHT = "first sight"
NEW_ENTRY = "new entry"  # the user changed the server's entry
WITHHELD = "remit/withheld"  # the key under which a resource, template or prompt has the reason
MOST_INSPECTED = 100_000  # characters of one definition; the largest real one has 35,000
_PARTS = ("resources", "templates", "prompts")
_ADDRESSES = ("uri", "uriTemplate")
_MOST_KNOWN = 20_000
_known_items: dict[tuple[str, str], str | None] = {}  # reasons by version and content: sessions list again
_NO_OTHERS = OtherTools()


class PreparedList:
    """A server's list, inspected and ready to be stored; without an inspector, nothing is inspected."""

    def __init__(self, declaration: Declaration, offer: Offer, inspector: Inspector | None = None) -> None:
        self.declaration = declaration
        self.offer = offer
        self._inspector = None if declaration.source == REMIT else inspector
        self._tools = _all_tools(offer)
        self._instructions = _instructions(declaration, offer)
        self._prepared: dict[str, PreparedDefinition] = {}  # by digest

    @property
    def digests(self) -> list[str]:
        """The digests of its definitions, which the store is asked about."""
        return [definition.digest for definition in self._definitions]

    @property
    def _definitions(self) -> list[Definition]:
        return [*self._tools, *([] if self._instructions is None else [self._instructions])]

    def inspect(self, known: KnownList, others: OtherTools = _NO_OTHERS) -> None:
        """Compute pins, inspect what is unknown, and mark resources and prompts to withhold.

        A new server is inspected whole, since its names may imitate others here even if its texts are known.
        """
        is_new, unknown = self._is_new(known), list[Definition]()
        for definition in self._definitions:
            pin, findings, version = known.definitions.get(definition.digest) or (None, None, None)
            prepared = PreparedDefinition(definition, pin or pin_of(definition), findings)
            self._prepared[definition.digest] = prepared
            if self._inspector is not None and (is_new or version != self._inspector.version):
                unknown.append(definition)
        others = self._without_own(others)
        if self._inspector is not None:
            for definition, findings in zip(unknown, self._findings(unknown, others), strict=True):
                prepared = self._prepared[definition.digest]
                version = self._inspector.version
                self._prepared[definition.digest] = prepared._replace(
                    findings=json.dumps(findings) if findings else None, inspector=version
                )
        self._mark_items(others)

    def keep(self, store: Store, workspace: Workspace, at: int) -> None:
        """Store the inspected list; of a new server, accept all but what inspection finds suspicious."""
        known = store.listings.known(self.declaration, (), workspace)
        listed = {definition.name for definition in self.offer.tools}
        prepared = [self._accepted(definition, known) for definition in self._tools]
        store.listings.keep(
            self.declaration,
            self.offer,
            [item._replace(is_listed=item.definition.name in listed) for item in prepared],
            workspace,
            at,
            instructions=None if self._instructions is None else self._accepted(self._instructions, known),
        )

    def _is_new(self, known: KnownList) -> bool:
        """Return whether the server was never listed with this entry.

        The entry of a plugin's server is its author's, who can change it, and its name, with every update.
        """
        if self.declaration.scope is Scope.PLUGIN:
            return known.listed_entry is None and not known.is_plugin_listed
        return known.listed_entry is None or known.listed_entry != self.declaration.digest

    def _accepted(self, definition: Definition, known: KnownList) -> PreparedDefinition:
        """Accept a definition at first sight; what was accepted before stays what later ones differ from."""
        item = self._prepared[definition.digest]
        accepted = known.accepted.get(definition.name)
        is_same = accepted is not None and accepted.pin == item.pin
        if is_same or not self._is_new(known) or has_high(read_findings(item.findings)):
            return item
        return item._replace(accepted_by=NEW_ENTRY if known.listed_entry else FIRST_SIGHT)

    def _without_own(self, others: OtherTools) -> OtherTools:
        prefix = self.declaration.name.removesuffix("*")
        tools = (name for name in others.tools if not name.startswith(prefix))
        return OtherTools(others.servers - {self.declaration.server or ""}, frozenset(tools))

    def _findings(self, definitions: Sequence[Definition], others: OtherTools) -> list[Sequence[Finding]]:
        """Inspect definitions, except what is too long."""
        if self._inspector is None:
            return [() for _ in definitions]
        lengths = [_length(definition) for definition in definitions]
        readable = [
            item for item, length in zip(definitions, lengths, strict=True) if length <= MOST_INSPECTED
        ]
        findings = iter(self._inspector.inspect(readable, others) if readable else ())
        return [next(findings) if length <= MOST_INSPECTED else [_too_long(length)] for length in lengths]

    def _mark_items(self, others: OtherTools) -> None:
        """Mark resources, templates and prompts with a suspicious text: nobody can accept them."""
        lists = {part: [_unmarked(item) for item in getattr(self.offer, part)] for part in _PARTS}
        if self._inspector is not None:
            label, version = self.declaration.server, self._inspector.version
            items = [item for part in lists.values() for item in part]
            definitions = [_item_definition(item, label) for item in items]
            unknown = [item for item in definitions if (version, item.digest) not in _known_items]
            if len(_known_items) + len(unknown) > _MOST_KNOWN:
                _known_items.clear()
                unknown = definitions
            for definition, findings in zip(unknown, self._findings(unknown, others), strict=True):
                _known_items[version, definition.digest] = told(findings) if has_high(findings) else None
            for item, definition in zip(items, definitions, strict=True):
                if reason := _known_items[version, definition.digest]:
                    item[WITHHELD] = reason
        self.offer = self.offer._replace(**lists)


def withheld(item: Mapping[str, Any]) -> str | None:
    """Return why a stored resource, template or prompt is not served, for people; None if it is."""
    return item.get(WITHHELD)


def _all_tools(offer: Offer) -> list[Definition]:
    """Return the listed tools, and those that a server that knows states only declares."""
    listed = {definition.name: definition for definition in offer.tools}
    declared = () if offer.declared is None else offer.declared.tools
    others = {tool.definition.name: tool.definition for tool in declared}
    return [*({**others, **listed}).values()]


def _instructions(declaration: Declaration, offer: Offer) -> Definition | None:
    """Return a server's instructions as a definition with a pin of its own; None if it has none."""
    text = offer.instructions
    if not text:
        return None
    return make_definition(declaration.name, declaration.server, None, text, {"instructions": text})


def _length(definition: Definition) -> int:
    if len(definition.raw) <= MOST_INSPECTED:  # escapes only make it longer
        return len(definition.raw)
    return len(json.dumps(json.loads(definition.raw), ensure_ascii=False))


def _too_long(length: int) -> Finding:
    says = f"it has {length:,} characters, and Remit inspects at most {MOST_INSPECTED:,}"
    return Finding(HIGH, says)


def _unmarked(item: object) -> dict[str, Any]:
    """Return an item without a reason that its server wrote itself."""
    return {key: value for key, value in as_object(item).items() if key != WITHHELD}


def _item_definition(item: Mapping[str, Any], server: str | None) -> Definition:
    """Return a resource, template or prompt as a definition; an address counts only if it is a sentence."""
    fields = {key: value for key, value in item.items() if key not in _ADDRESSES}
    address = unquote("".join(str(item.get(key, "")) for key in _ADDRESSES))
    if " " in address:
        fields["address"] = address
    name, description = (
        value if isinstance(value, str) else "" for value in (item.get("name"), item.get("description"))
    )
    digest = sha256(json.dumps([server, fields], sort_keys=True).encode()).hexdigest()
    return Definition(digest, name, server, name, description, json.dumps(fields))
