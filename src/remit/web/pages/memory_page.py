"""Memory: the artifacts of this project, one of them with its links and history, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import urlencode

from remit.cli.memory_commands import artifact_shape, relation_shape
from remit.memory.artifacts import ArtifactKind, StoredArtifact, body_of, name_of
from remit.memory.memory_scopes import memory_id
from remit.web.page_model import ActionResult, PageAnswer, PageRequest, PageSources, Values, paged

if TYPE_CHECKING:
    from remit.cli.output.json_output import Shape
    from remit.memory.project_memory import Memory

PATH = "/memory"
ROWS = 50
_MOST = 10_000  # artifacts that a page looks at
_FOUND = 50
_ACTIONS = ("confirm", "expire", "correct", "delete")


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """List the artifacts of this project, or show one."""
    with sources.openers.memory(asked.options.project) as memory:
        which = memory_id(memory.workspace.project)
        return _one(memory, which, asked) if asked.params.get("id") else _list(memory, which, asked)


def act(sources: PageSources, asked: PageRequest) -> ActionResult:
    """Confirm, correct, expire or delete an artifact.

    Raises:
        ArtifactError: there is no such artifact, or the correction breaks a rule.
    """
    with sources.openers.memory(asked.options.project) as memory:
        kept = memory.find(asked.params.get("id", ""), memory_id(memory.workspace.project))
        what = asked.params.get("do", "")
        if what == "confirm":
            memory.corrections.confirm(kept)
            return ActionResult(_link(kept.id), "Confirmed: it counts as valid from today.")
        if what == "expire":
            memory.corrections.expire(kept)
            return ActionResult(_link(kept.id), "Expired: agents no longer get it. It stays stored.")
        if what == "correct":
            id = memory.corrections.correct(kept, _corrected(kept, asked))
            return ActionResult(_link(id), "Corrected. The former text is in the history.")
        if what == "delete":
            memory.delete_artifact(kept)
            return ActionResult(PATH, f"Deleted `{kept.id}`.")
        raise ValueError(f"`{what}` is not one of {', '.join(_ACTIONS)}")


class _Row(NamedTuple):
    """An artifact in a list."""

    kept: StoredArtifact
    score: float | None

    @property
    def title(self) -> str:
        """Its name; an observation, which has none, begins with its text."""
        words = body_of if self.kept.kind is ArtifactKind.OBSERVATION else name_of
        return words(self.kept.kind, self.kept.content)


class _Field(NamedTuple):
    """A field of an artifact, as a person reads and edits it."""

    name: str
    value: object

    @property
    def is_list(self) -> bool:
        """Whether it is a list of lines."""
        return isinstance(self.value, list)

    @property
    def text(self) -> str:
        """Its text; the items of a list are lines."""
        return "\n".join(map(str, self._items)) if self.is_list else str(self.value)

    @property
    def can_change(self) -> bool:
        """Whether a correction can change it."""
        return all(isinstance(item, str) for item in (self._items if self.is_list else [self.value]))

    @property
    def _items(self) -> list[object]:
        return cast("list[object]", self.value)


def _link(id: str) -> str:
    return f"{PATH}?{urlencode({'id': id})}"


def _corrected(kept: StoredArtifact, asked: PageRequest) -> dict[str, object]:
    """Return the fields that a form changes."""
    changed: dict[str, object] = {}
    for field in (_Field(name, value) for name, value in kept.content.items()):
        given = asked.params.get(f"field.{field.name}")
        if given is None or not field.can_change:
            continue
        text = given.replace("\r\n", "\n").strip()
        if text != field.text.strip():
            changed[field.name] = (
                [line for line in text.split("\n") if line.strip()] if field.is_list else text
            )
    return changed


def _list(memory: Memory, which: str, asked: PageRequest) -> PageAnswer:
    query, everything = asked.params.get("q", "").strip(), bool(asked.params.get("all"))
    scores: dict[str, float] = {}
    if query:
        found = memory.memory_surface({"query": query, "project_id": which, "limit": _FOUND})
        scores = {str(each["id"]): float(str(each["score"])) for each in found.matches}
    known = memory.artifacts(which, _MOST, everything=everything)
    kind = asked.params.get("kind", "")
    kept = [each for each in known if (not kind or each.kind == kind) and (not query or each.id in scores)]
    kept.sort(key=lambda each: -scores.get(each.id, 0))

    def values() -> Values:
        return {
            "project_id": which,
            "page": paged([_Row(each, scores.get(each.id)) for each in kept], asked.number("page"), ROWS),
            "kinds": {each.value: sum(item.kind is each for item in known) for each in ArtifactKind},
            "artifact": None,
        }

    def shape() -> Shape:
        return {"project_id": which, "artifacts": [artifact_shape(each) for each in kept]}

    return PageAnswer("memory.html", shape, values, fragment="memory_listing.html")


def _one(memory: Memory, which: str, asked: PageRequest) -> PageAnswer:
    kept = memory.find(asked.params["id"], which)
    relations = memory.relations(kept.id)
    history = memory.corrections.history(kept)

    def values() -> Values:
        return {
            "project_id": which,
            "artifact": kept,
            "name": name_of(kept.kind, kept.content),
            "fields": [_Field(name, value) for name, value in kept.content.items()],
            "relations": relations,
            "history": [_Row(each, None) for each in history],
        }

    def shape() -> Shape:
        edges = [relation_shape(each) for each in relations]
        return {
            **artifact_shape(kept),
            "relations": edges,
            "history": [artifact_shape(each) for each in history],
        }

    return PageAnswer("artifact.html", shape, values)
