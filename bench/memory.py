"""Measures memory on this machine: saving, and retrieving from many artifacts, of one project and of more.

A query is answered by its words and by its meaning at once. To tell what each costs, some queries are asked
of a memory without a model, and some have no word that any artifact has. The command is a whole process, and
so a ratio to a bare `python -c pass` of the same run.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from memory_texts import Words
from remit import __version__
from remit.bootstrap import memory_at
from remit.decision.projects import Workspace, identify
from remit.memory.artifacts import ArtifactKind, ProjectRecord, StoredArtifact
from remit.memory.project_memory import Memory
from remit.memory.results import RetrievalStatus, SaveResult, SaveStatus
from remit.memory.transfer import HEAD, record_line
from remit.search.engine import SearchEngine
from run import figure

RESULTS = Path(__file__).parent / "results" / "memory.json"
ARTIFACTS, PROJECTS, ROUNDS, PROCESSES = 100_000, 20, 201, 15
WITHOUT_A_MODEL = {"REMIT_EMBEDDINGS": "none"}

FIRST_SEARCH = """
import sys, time
start = time.perf_counter()
from remit.bootstrap import open_memory
with open_memory() as memory:
    asked = {"project_id": "project-0", "scope": "project", "keyword": sys.argv[1]}
    found = memory.retrieve_context(asked)
    assert found.items, found
print(time.perf_counter() - start)
"""
KINDS = (
    ArtifactKind.DECISION,
    ArtifactKind.CONTEXT,
    ArtifactKind.PATTERN,
    ArtifactKind.SESSION,
    ArtifactKind.OBSERVATION,
)


def main() -> None:
    words = Words()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for title, projects in (("one_project", 1), (f"{PROJECTS}_projects", PROJECTS)):
            root = Path(folder) / title
            memory = opened(root)
            memory.restore([HEAD, *records(words, projects)])
            figures |= {
                f"{name}_{title}_ms": measured for name, measured in measure(memory, root, words).items()
            }
            memory.close()
            if projects == 1:
                figures |= processes(root, words)
    environment = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    content = {"remit": __version__, "artifacts": ARTIFACTS, **environment, "figures": figures}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")
    for name, measured in figures.items():
        aim = f"  aim: at most {measured['aim']:g}" if "aim" in measured else ""
        print(f"{name:48} p50 {measured['p50']:8.2f}  p95 {measured['p95']:8.2f}{aim}")


def measure(memory: Memory, root: Path, words: Words) -> dict[str, dict[str, float]]:
    for _ in range(2):
        retrieve(memory, words.text(5))  # opens the model; from the second on, a large place is held
    with opened(root, WITHOUT_A_MODEL) as by_words:
        alone = figure(each(by_words, queries(words)), aim=20)
    return {
        "retrieve_by_words_and_meaning": figure(each(memory, queries(words)), aim=20),
        "retrieve_by_words_alone": alone,
        "retrieve_by_meaning_alone": figure(
            each(memory, [words.unused(5) for _ in range(ROUNDS)], may_be_empty=True), aim=20
        ),
        "retrieve_newest": figure(timed_each(lambda: newest(memory)), aim=20),
        "save_decision": figure(saved(memory, words), aim=2),
        "retrieve_after_a_save": figure(after_a_save(memory, words), aim=20),
    }


def opened(root: Path, variables: Mapping[str, str] | None = None) -> Memory:
    workspace = Workspace(dir=str(root), checkout=str(root), project=identify(str(root)))
    engine = SearchEngine(variables or {})
    return memory_at(
        str(root / "remit.db"),
        str(root / "memory-queue"),
        engine,
        workspace,
        lambda: time.time_ns() // 1_000_000,
    )


def processes(root: Path, words: Words) -> dict[str, dict[str, float]]:
    """Processes that ask once, each round beside a bare interpreter."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "REMIT_HOME": str(root)}
    bare: list[float] = []
    commands: list[float] = []
    firsts: list[float] = []
    for query in (words.text(5) for _ in range(PROCESSES)):
        search = ["-m", "remit", "memory", "search", "--id", "project-0", *query.split()]
        for arguments, taken in ((["-c", "pass"], bare), (search, commands)):
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, *arguments], cwd=root, env=environment, check=True, capture_output=True
            )
            taken.append(time.perf_counter() - start)
        first = [sys.executable, "-c", FIRST_SEARCH, query]
        said = subprocess.run(first, cwd=root, env=environment, check=True, capture_output=True, text=True)
        firsts.append(float(said.stdout) * 1e3)
    usual = statistics.median(bare)
    return {
        "memory_search_command_to_python": figure([seconds / usual for seconds in commands]),
        "open_and_retrieve_in_a_new_process_ms": figure(firsts),
        "bare_python_ms": figure([seconds * 1e3 for seconds in bare]),
    }


def records(words: Words, projects: int) -> Iterator[str]:
    for number in range(projects):
        yield record_line(ProjectRecord(f"project-{number}", 1, 0))
    for number in range(ARTIFACTS):
        kind = KINDS[number % len(KINDS)]
        yield record_line(
            StoredArtifact(
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


def content(kind: ArtifactKind, words: Words) -> dict[str, object]:
    match kind:
        case ArtifactKind.DECISION:
            return decision(words)
        case ArtifactKind.PATTERN:
            steps = [words.text(10), words.text(10)]
            return {
                "trigger": words.text(8),
                "repeatable_steps": steps,
                "exclusions": [],
                "last_validated_at": None,
            }
        case ArtifactKind.SESSION:
            lists = ("actions_taken", "decisions_made", "open_items", "next_actions")
            return {"objective": words.text(8), **{key: [words.text(8)] for key in lists}}
        case ArtifactKind.OBSERVATION:
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


def queries(words: Words) -> list[str]:
    return [words.text(5) for _ in range(ROUNDS)]


def each(memory: Memory, asked: list[str], *, may_be_empty: bool = False) -> list[float]:
    return [
        timed(lambda query=query: retrieve(memory, query, may_be_empty=may_be_empty)) * 1e3 for query in asked
    ]


def retrieve(memory: Memory, keyword: str, *, may_be_empty: bool = False) -> None:
    found = memory.retrieve_context({"project_id": "project-0", "scope": "project", "keyword": keyword})
    good = {RetrievalStatus.SUCCEEDED, RetrievalStatus.CONFLICTED}
    assert found.retrieval_status in good | ({RetrievalStatus.EMPTY} if may_be_empty else set()), found
    assert found.items or may_be_empty


def newest(memory: Memory) -> None:
    found = memory.retrieve_context({"project_id": "project-0", "scope": "project"})
    assert found.items


def saved(memory: Memory, words: Words) -> list[float]:
    wanted = [decision(words) | {"scope": "project"} for _ in range(ROUNDS)]
    return [timed(lambda one=one: save(memory, one)) * 1e3 for one in wanted]


def after_a_save(memory: Memory, words: Words) -> list[float]:
    """What was saved a moment ago is read, and found by its meaning, too."""
    taken: list[float] = []
    for query in queries(words):
        save(memory, decision(words) | {"scope": "project"})
        taken.append(timed(lambda query=query: retrieve(memory, query)) * 1e3)
    return taken


def save(memory: Memory, one: dict[str, object]) -> None:
    result = memory.save("save_decision", {"decision": one, "project_id": "project-0"})
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
