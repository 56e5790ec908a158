"""`remit eval` measures the search on a folder of tools and queries."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.sandbox import Sandbox

TOOLS = [
    {"id": "shot", "name": "take_screenshot", "description": "Capture an image of the page", "server": "web"},
    {"id": "read", "name": "read_file", "description": "Read the contents of a file", "server": "files"},
    {"id": "mail", "name": "send_email", "description": "Send a message to an inbox", "server": "mail"},
]
QUERIES = [
    {"id": "1", "text": "take a screenshot", "relevant": ["shot"]},
    {"id": "2", "text": "what is in this file?", "relevant": ["read"]},
    {"id": "3", "text": "send a message", "relevant": ["mail"]},
]
MEASURES = ["recall@1", "recall@5", "recall@10", "ndcg@10", "mrr", "p50_ms", "p95_ms"]


def folder(sandbox: Sandbox, tools: object = TOOLS, queries: object = QUERIES) -> str:
    place = sandbox.root / "set"
    for name, rows in (("tools.jsonl", tools), ("queries.jsonl", queries)):
        assert isinstance(rows, list)
        sandbox.write(place / name, "\n".join(map(json.dumps, rows)))  # pyright: ignore[reportUnknownArgumentType]
    return str(place)


@pytest.fixture
def endpoint() -> Iterator[str]:
    """A service that knows three directions: pictures, files, and all else."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            if any("trouble" in text for text in texts):
                self.send_response(400)
                self.end_headers()
                return
            rows = [[float("screenshot" in text), float("file" in text), 0.5] for text in texts]
            data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
            body = json.dumps({"data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_the_json_has_the_figures_of_each_provider(sandbox: Sandbox) -> None:
    run = sandbox.remit("eval", folder(sandbox), "--json", "--provider", "static", "--provider", "words")
    answer = json.loads(run.stdout)
    assert (answer["tools"], answer["queries"], list(answer["providers"])) == (3, 3, ["static", "words"])
    assert [list(figures) for figures in answer["providers"].values()] == [MEASURES, MEASURES]
    assert answer["providers"]["words"]["recall@1"] == 1.0
    assert 0 < answer["providers"]["words"]["p50_ms"] <= answer["providers"]["words"]["p95_ms"]


def test_without_a_provider_all_that_are_there_are_measured(sandbox: Sandbox) -> None:
    answer = json.loads(sandbox.remit("eval", folder(sandbox), "--json").stdout)
    assert {"static", "words"} <= answer["providers"].keys() <= {"static", "onnx", "words"}


def test_a_person_gets_a_table(sandbox: Sandbox) -> None:
    lines = sandbox.remit("eval", folder(sandbox), "--provider", "words").stdout.splitlines()
    assert lines[0] == "3 tools, 3 queries"
    assert lines[2].split() == ["provider", *MEASURES]
    assert lines[3].split()[:3] == ["words", "100.0", "%"]


def test_queries_that_no_tool_answers_are_left_out_and_told(sandbox: Sandbox) -> None:
    gone = {"id": "4", "text": "book a flight", "relevant": ["flight"]}
    run = sandbox.remit("eval", folder(sandbox, queries=[*QUERIES, gone]), "--json", "--provider", "words")
    assert json.loads(run.stdout)["queries"] == 3
    assert run.stderr == "warning: queries skipped because their relevant tools are missing: 1\n"


def test_a_bad_line_is_named_with_its_file_number_and_cause(sandbox: Sandbox) -> None:
    run = sandbox.remit("eval", folder(sandbox, tools=[*TOOLS, {"id": "x"}]))
    assert run.returncode == 2
    assert run.stderr.startswith("error: ")
    assert "tools.jsonl, line 4: `name` is missing" in run.stderr


def test_a_folder_that_is_none_is_named(sandbox: Sandbox) -> None:
    run = sandbox.remit("eval", str(sandbox.root / "nowhere"))
    assert (run.returncode, "nowhere is not a folder" in run.stderr) == (2, True)


def test_an_endpoint_is_measured_when_one_is_set(sandbox: Sandbox, endpoint: str) -> None:
    sandbox.variables |= {"REMIT_EMBEDDINGS": endpoint, "REMIT_EMBEDDINGS_MODEL": "tiny"}
    answer = json.loads(sandbox.remit("eval", folder(sandbox), "--json").stdout)
    assert answer["providers"]["endpoint"]["recall@1"] == 1.0


def test_an_endpoint_that_fails_is_an_error_and_not_a_figure(sandbox: Sandbox, endpoint: str) -> None:
    sandbox.variables |= {"REMIT_EMBEDDINGS": endpoint, "REMIT_EMBEDDINGS_MODEL": "tiny"}
    query = {"id": "4", "text": "trouble", "relevant": ["mail"]}
    run = sandbox.remit("eval", folder(sandbox, queries=[*QUERIES, query]), "--provider", "endpoint")
    assert run.returncode == 2
    assert "answers 400 Bad Request" in run.stderr


def test_an_endpoint_that_is_asked_for_and_not_set_is_an_error(sandbox: Sandbox) -> None:
    run = sandbox.remit("eval", folder(sandbox), "--provider", "endpoint")
    assert run.returncode == 2
    assert "error: no endpoint is set\nhint: set `REMIT_EMBEDDINGS` to its URL" in run.stderr
