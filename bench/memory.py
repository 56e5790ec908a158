"""Measures memory on this machine: saving, and retrieving from many artifacts, of one project and of more."""

import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

from remit import __version__
from remit.adapters.embeddings.wordpiece import vocabulary
from remit.bootstrap import memory_at
from remit.core.memory.artifacts import Kept, Kind
from remit.core.memory.records import HEAD, ProjectRecord, written
from remit.core.memory.results import RetrievalStatus, SaveResult, SaveStatus
from remit.core.projects import Workspace, identify
from remit.engines import SearchEngine
from remit.memory.project_memory import Memory
from run import figure

RESULTS = Path(__file__).parent / "results" / "memory.json"
ARTIFACTS, PROJECTS, ROUNDS = 100_000, 20, 201
KINDS = (Kind.DECISION, Kind.CONTEXT, Kind.PATTERN, Kind.SESSION, Kind.OBSERVATION)


class Words:
    """Texts of real words, some of which are much more frequent than others."""

    def __init__(self) -> None:
        self._chance = random.Random(20261115)  # noqa: S311 - the same texts each time
        self._words = [word for word in vocabulary() if word.isalpha() and len(word) > 2][:20_000]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self._words))))

    def text(self, count: int) -> str:
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=count))


def main() -> None:
    words = Words()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for title, projects in (("one_project", 1), (f"{PROJECTS}_projects", PROJECTS)):
            memory = opened(Path(folder) / title)
            memory.restore([HEAD, *records(words, projects)])
            retrieve(memory, words.text(5))  # opens the model
            figures |= {
                f"retrieve_keyword_{title}_ms": figure(retrieved(memory, words), aim=20),
                f"retrieve_newest_{title}_ms": figure(timed_each(lambda m=memory: newest(m)), aim=20),
            }
            figures[f"save_decision_{title}_ms"] = figure(saved(memory, words), aim=2)
            memory.close()
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "artifacts": ARTIFACTS, **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        print(f"{name:38} p50 {measured['p50']:8.2f}  p95 {measured['p95']:8.2f}{aim}")


def opened(root: Path) -> Memory:
    workspace = Workspace(dir=str(root), checkout=str(root), project=identify(str(root)))
    return memory_at(str(root / "remit.db"), SearchEngine({}), workspace, lambda: time.time_ns() // 1_000_000)


def records(words: Words, projects: int) -> Iterator[str]:
    for number in range(projects):
        yield written(ProjectRecord(f"project-{number}", 1, 0))
    for number in range(ARTIFACTS):
        kind = KINDS[number % len(KINDS)]
        yield written(
            Kept(
                id=f"{kind}-{number}",
                kind=kind,
                project_id=f"project-{number % projects}",
                focus=None,
                content=content(kind, words),
                dated_at=number,
                created_at=number,
                updated_at=number,
            )
        )


def content(kind: Kind, words: Words) -> dict[str, object]:
    match kind:
        case Kind.DECISION:
            return decision(words)
        case Kind.PATTERN:
            steps = [words.text(10), words.text(10)]
            return {
                "trigger": words.text(8),
                "repeatable_steps": steps,
                "exclusions": [],
                "last_validated_at": None,
            }
        case Kind.SESSION:
            lists = ("actions_taken", "decisions_made", "open_items", "next_actions")
            return {"objective": words.text(8), **{key: [words.text(8)] for key in lists}}
        case Kind.OBSERVATION:
            return {"type": "change", "text": words.text(20)}
        case _:
            return {"content": words.text(30), "topic": words.text(3), "relevance_score": 1.0}


def decision(words: Words) -> dict[str, object]:
    return {
        "title": words.text(6),
        "rationale": words.text(25),
        "owner": "ada",
        "date": "2026-11-15",
        "confidence": 0.9,
    }


def retrieved(memory: Memory, words: Words) -> list[float]:
    queries = [words.text(5) for _ in range(ROUNDS)]
    return [timed(lambda query=query: retrieve(memory, query)) * 1e3 for query in queries]


def retrieve(memory: Memory, keyword: str) -> None:
    found = memory.retrieve_context({"project_id": "project-0", "scope": "project", "keyword": keyword})
    assert found.retrieval_status in (RetrievalStatus.SUCCEEDED, RetrievalStatus.CONFLICTED), found
    assert found.items


def newest(memory: Memory) -> None:
    found = memory.retrieve_context({"project_id": "project-0", "scope": "project"})
    assert found.items


def saved(memory: Memory, words: Words) -> list[float]:
    wanted = [decision(words) | {"scope": "project"} for _ in range(ROUNDS)]
    return [timed(lambda one=one: save(memory, one)) * 1e3 for one in wanted]


def save(memory: Memory, one: dict[str, object]) -> None:
    result = memory.save_decision({"decision": one, "project_id": "project-0"})
    assert isinstance(result, SaveResult)
    assert result.status is SaveStatus.SAVED, result


def timed_each(step: Callable[[], object]) -> list[float]:
    return [timed(step) * 1e3 for _ in range(ROUNDS)]


def timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
