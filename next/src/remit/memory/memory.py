"""A repository's memory: the eight tools, behind the scope gate."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, cast

from remit.decision import Project, Workspace
from remit.errors import ArtifactError, NotFoundError
from remit.memory.models import (
    KINDS,
    Content,
    MemorySurface,
    RelatedEntity,
    RetrieveContext,
    SaveDecision,
    Saving,
    UpsertEntity,
    milliseconds,
    read_call,
)
from remit.memory.scope import TOOLS, Access, Place, gate, problem, remedy
from remit.memory.search import ArtifactSearch
from remit.memory.session_start import project_ids
from remit.search import Embedder
from remit.store import Artifact, MemoryProject, NewArtifact, Related, Store
from remit.text import Clock, moment

_MOST = {"focus": 10, "project": 20}  # artifacts that `retrieve_context` returns
_SIMILAR = 0.25  # score of a decision that may be about the same
_DAY = 86_400_000  # milliseconds

Answer = dict[str, Any]  # JSON, as a tool returns it


def open_memory(store: Store, model: Embedder | None, workspace: Workspace) -> "Memory":
    """Open the memory of a workspace's repository.

    The store has to be durable: an answer promises that what was written is on disk.
    """
    return Memory(store, model, workspace, lambda: time.time_ns() // 1_000_000)


class Memory:
    """Saves and recalls artifacts; a project belongs to the repository in which it was created."""

    def __init__(self, store: Store, model: Embedder | None, workspace: Workspace, clock: Clock) -> None:
        self._store = store
        self._artifacts = store.artifacts
        self._search = ArtifactSearch(store, model, workspace)
        self._workspace = workspace
        self._clock = clock

    def call(self, tool: str, arguments: Mapping[str, object]) -> Answer:
        """Call a tool; where the gate blocks it, the answer names the call that helps.

        Raises:
            NotFoundError: there is no such tool.
            ArtifactError: an argument breaks a rule.
            StoreError: the database cannot be used.
        """
        if tool not in TOOLS:
            raise NotFoundError(f"memory has no tool `{tool}`")
        call = read_call(tool, arguments)
        if isinstance(call, Saving):
            return self._save(tool, call)
        place = self._place(call.project_id, cast("str | None", getattr(call, "focus", None)))
        if gate(tool, place) is Access.BLOCKED:
            return self._blocked(place)
        if isinstance(call, RetrieveContext):
            return self._retrieve(call, place)
        if isinstance(call, MemorySurface):
            return self._surface(call, place)
        state = {"scope_state": place.scope_state.value, "project_exists": place.project_exists}
        return _with_next_step(state, self._remedy(place))

    def projects(self) -> list[MemoryProject]:
        """List the projects of this repository's memory."""
        return self._artifacts.projects(self._workspace)

    def artifacts(self, project_id: str, limit: int) -> list[Artifact]:
        """List the artifacts of a project, newest first, also those that others replace."""
        places = self._known(project_id).values()
        return self._artifacts.newest(places, KINDS, limit, self._workspace, with_replaced=True)

    def find(self, id: str) -> Artifact:
        """Find an artifact.

        Raises:
            NotFoundError: there is none here.
        """
        artifact = self._artifacts.find(id, self._workspace)
        if artifact is None:
            raise NotFoundError(f"no artifact has the id `{id}`", hint="run `remit memory list`")
        return artifact

    def relations(self, id: str) -> list[Related]:
        """List the relations of an artifact."""
        return self._artifacts.relations(id, self._workspace)

    def delete(self, project_id: str) -> None:
        """Erase a project with its artifacts.

        Raises:
            NotFoundError: there is no such project here.
        """
        self._known(project_id)
        self._artifacts.delete_project(project_id, self._workspace)

    def delete_artifact(self, id: str) -> None:
        """Erase an artifact.

        Raises:
            NotFoundError: there is none here.
        """
        self._artifacts.delete(self.find(id).key, self._workspace)

    def take_over(self, moved: Project) -> list[str]:
        """Take over the memory of a repository that has moved here, and list the projects that came."""
        known = {project.project_id for project in self.projects()}
        self._artifacts.take_over(moved.hash, self._workspace, self._clock())
        return [project.project_id for project in self.projects() if project.project_id not in known]

    def _known(self, project_id: str) -> dict[str, int]:
        places = self._artifacts.places(project_id, self._workspace)
        if not places:
            hint = "run `remit memory list --projects`"
            raise NotFoundError(f"memory has no project `{project_id}` here", hint=hint)
        return places

    def _place(self, project_id: str | None, focus: str | None) -> Place:
        ids = {} if project_id is None else self._artifacts.places(project_id, self._workspace)
        return Place(project_id, focus, ids)

    def _remedy(self, place: Place) -> str | None:
        known = project_ids(self._store, self._workspace) if place.project_id is None else [""]
        return remedy(place, known[0])

    def _blocked(self, place: Place) -> Answer:
        return _with_next_step({"status": "blocked_scope", "message": problem(place)}, self._remedy(place))

    def _save(self, tool: str, call: Saving) -> Answer:
        if call.saved.belongs_to == "focus" and call.focus is None:
            raise _focus_required()
        similar = self._similar(call) if isinstance(call, SaveDecision) and not call.supersedes else None
        with self._store.database.transaction():
            place = self._place(call.project_id, call.focus)
            if call.project_id is None or gate(tool, place) is Access.BLOCKED:
                return self._blocked(place)
            at = self._clock()
            self._artifacts.create(call.project_id, call.focus or "", self._workspace, at)
            place = self._place(call.project_id, call.focus)
            answer = self._write(call, place, at)
        return _with_next_step(answer, similar if answer["status"] == "saved" else None)

    def _write(self, call: Saving, place: Place, at: int) -> Answer:
        content = call.saved
        home = place.ids[call.focus or "" if content.belongs_to == "focus" else ""]
        if isinstance(call, UpsertEntity):
            return self._upsert(call, home, place, at)
        artifact = _artifact(content, content.given(), at)
        same = self._artifacts.same(artifact, home, self._workspace) if content.is_unique else None
        if same is None:
            self._artifacts.add(artifact, home, self._workspace, at)
        key = artifact.key if same is None else same.key
        replaced = self._supersede(call, key, at) if isinstance(call, SaveDecision) else False
        return {"status": "saved" if same is None or replaced else "duplicate_skip", "artifact_id": key}

    def _supersede(self, call: SaveDecision, key: str, at: int) -> bool:
        """Hide the decisions that another replaces; return whether there were any."""
        others = [id for id in dict.fromkeys(call.supersedes) if id != key]
        for id in others:
            other = self._artifacts.find(id, self._workspace)
            if other is None or (other.kind, other.project_id) != ("decision", call.project_id):
                raise ArtifactError(f"supersedes: No decision of this project has the id `{id}`")
            self._artifacts.replace(id, self._workspace, at)
            self._artifacts.relate(Related(key, "SUPERSEDES", id, {}), self._workspace)
        return bool(others)

    def _upsert(self, call: UpsertEntity, home: int, place: Place, at: int) -> Answer:
        artifact = _artifact(call.entity, call.entity.given(), at)
        known = self._artifacts.entity(artifact.subject, home, self._workspace)
        if known is None:
            self._artifacts.add(artifact, home, self._workspace, at)
        else:
            artifact = _artifact(call.entity, {**known.content, **artifact.content}, at)
            artifact = artifact._replace(key=known.key)
            self._artifacts.change(artifact, self._workspace, at)
        for related in call.related_entities:
            target = self._target(related, (home, place.ids[""]), call.project_id)
            relation = Related(artifact.key, related.relationship_type, target, related.properties)
            self._artifacts.relate(relation, self._workspace)
        return {"status": "saved", "artifact_id": artifact.key}

    def _target(self, related: RelatedEntity, places: tuple[int, int], project_id: str | None) -> str:
        artifact = self._artifacts.find(related.entity_id, self._workspace)
        if artifact is not None and artifact.project_id == project_id:
            return artifact.key
        for place in places:
            entity = self._artifacts.entity(_normalized(related.entity_id), place, self._workspace)
            if entity is not None:
                return entity.key
        message = f"related_entities: Nothing in this project is called `{related.entity_id}`"
        raise ArtifactError(message, hint="Save that entity first, with upsert_entity_with_deps.")

    def _similar(self, call: SaveDecision) -> str | None:
        """Name a decision that a new one may replace."""
        place = self._place(call.project_id, None)
        self._search.embed()
        for decision, score in self._search.find(call.decision.title, place.ids.values(), ("decision",), 1):
            if score >= _SIMILAR:
                again = json.dumps({"supersedes": [decision.key]})
                similar = f'The decision "{decision.content.get("title")}" ({decision.key}) is similar.'
                return f"{similar} If the new one replaces it, call save_decision again with {again}."
        return None

    def _retrieve(self, call: RetrieveContext, place: Place) -> Answer:
        scope = call.scope or ("project" if call.focus is None else "focus")
        if scope == "focus" and call.focus is None:
            raise _focus_required()
        homes = {"focus": place.ids.get(call.focus or "")} if scope == "focus" else {}
        homes["project"] = place.ids.get("")
        keyword = call.keyword or call.topic
        if keyword is not None:
            self._search.embed()
        items: list[Answer] = []
        has_more = False
        for name, home in homes.items():
            if home is not None:
                found = self._found(keyword, home, call.categories or KINDS, _MOST[name] + 1)
                items += found[: _MOST[name]]
                has_more |= len(found) > _MOST[name]
        more = "There is more: ask with a keyword, or for some categories." if has_more else None
        answer = {**_recalled(items), "scope_state": place.scope_state.value}
        return _with_next_step(answer, self._remedy(place) or more)

    def _found(self, keyword: str | None, home: int, kinds: Sequence[str], limit: int) -> list[Answer]:
        if keyword is not None:
            return [self._item(*hit) for hit in self._search.find(keyword, [home], kinds, limit)]
        newest = self._artifacts.newest([home], kinds, limit, self._workspace)
        return [self._item(artifact) for artifact in newest]

    def _surface(self, call: MemorySurface, place: Place) -> Answer:
        self._search.embed()
        hits = self._search.find(call.query, place.ids.values(), KINDS, call.limit)
        nothing = None if hits else "Nothing in memory answers this; try other words."
        items = [self._item(*hit) for hit in hits]
        return _with_next_step(_recalled(items), self._remedy(place) or nothing)

    def _item(self, artifact: Artifact, score: float | None = None) -> Answer:
        item = {"id": artifact.key, "kind": artifact.kind, **artifact.content}
        item["scope"] = "focus" if artifact.focus else "project"
        if artifact.focus:
            item["focus"] = artifact.focus
        related = self.relations(artifact.key) if artifact.kind == "entity" else []
        if related:
            item["related"] = [relation._asdict() for relation in related]
        age = self._clock() - artifact.dated_at
        freshness = "current" if age <= 7 * _DAY else "recent" if age <= 30 * _DAY else "stale"
        item |= {"updated_at": moment(artifact.updated_at, "seconds"), "freshness": freshness}
        return item if score is None else {**item, "score": round(score, 3)}


def _artifact(content: Content, given: Mapping[str, Any], at: int) -> NewArtifact:
    name = str(given.get(content.name_field, ""))
    fields = (given.get(field, "") for field in content.body_fields)
    body = "\n".join(field if isinstance(field, str) else "\n".join(field) for field in fields).strip()
    fingerprint = sha256("\n".join((content.kind, _normalized(name), _normalized(body))).encode()).hexdigest()
    validated = given.get("last_validated_at")
    never = 0 if content.kind == "pattern" else at
    return NewArtifact(
        key=f"{content.kind}-{os.urandom(8).hex()}",
        kind=content.kind,
        name=name,
        body=body,
        subject=_normalized(name) if content.kind == "entity" else "",
        fingerprint=fingerprint,
        content=given,
        dated_at=never if validated is None else milliseconds(validated),
    )


def _normalized(text: str) -> str:
    return " ".join(text.lower().split())


def _recalled(items: list[Answer]) -> Answer:
    return {"items": items, "retrieval_status": "succeeded" if items else "empty"}


def _with_next_step(answer: Answer, next_step: str | None) -> Answer:
    return answer if next_step is None else {**answer, "next_step": next_step}


def _focus_required() -> ArtifactError:
    return ArtifactError("focus: Field required, because the scope is `focus`")
