"""How the parts are put together, by what the variables say."""

import subprocess
import sys
from pathlib import Path

import pytest

from remit import bootstrap_gateway
from remit.decision.declared_launch import Launch
from remit.errors import BadVariableError, EmbeddingError
from remit.files.bounded_reader import Machine
from remit.files.own_environment import own_environment
from remit.search.embeddings.token_sequences import data_file
from remit.search.engine import SearchEngine
from support.sandbox import Sandbox
from support.upstream_pools import upstream


@pytest.mark.parametrize(("value", "model"), [("", "static"), ("static", "static"), ("onnx", "onnx")])
def test_a_variable_says_who_makes_the_vectors(value: str, model: str) -> None:
    if value == "onnx":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    engine = SearchEngine({"REMIT_EMBEDDINGS": value})
    assert engine.model is not None
    assert engine.model.startswith(f"{model}-")
    assert engine.embedder().model == engine.model
    assert engine.embedder().embed_query("read a file")


def test_nobody_makes_vectors_when_nobody_should() -> None:
    assert SearchEngine({"REMIT_EMBEDDINGS": "none"}).model is None


def test_an_endpoint_makes_the_vectors_with_its_model() -> None:
    url = {"REMIT_EMBEDDINGS": "http://127.0.0.1:9/v1"}
    with pytest.raises(BadVariableError):
        SearchEngine(url).embedder()
    engine = SearchEngine({**url, "REMIT_EMBEDDINGS_MODEL": "small"})
    assert engine.model == engine.embedder().model == "small@127.0.0.1:9"


def test_a_variable_says_how_words_and_meaning_are_fused() -> None:
    assert SearchEngine({}).fusion is SearchEngine({"REMIT_FUSION": "score"}).fusion is None
    assert SearchEngine({"REMIT_FUSION": "rank"}).fusion is not None
    with pytest.raises(BadVariableError, match="is not a known method"):
        _ = SearchEngine({"REMIT_FUSION": "magic"}).fusion


def test_a_provider_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "remit.search.embeddings.onnx_embedder", raising=False)
    with pytest.raises(EmbeddingError, match="need `onnxruntime`, which is not installed") as raised:
        SearchEngine({"REMIT_EMBEDDINGS": "onnx"}).embedder()
    assert own_environment().add_command("onnxruntime") in str(raised.value.hint)


@pytest.mark.parametrize(("provider", "file"), [("static", "static.safetensors"), ("onnx", "strong.onnx")])
@pytest.mark.parametrize("content", [None, b"", b"cut off"])
def test_a_model_that_is_missing_or_damaged_is_named_as_such(
    provider: str, file: str, content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vocabulary.txt").write_bytes(Path(data_file("vocabulary.txt")).read_bytes())
    if content is not None:
        (tmp_path / file).write_bytes(content)
    monkeypatch.setattr("remit.search.embeddings.token_sequences._DATA", str(tmp_path))
    with pytest.raises(EmbeddingError, match="the bundled model cannot be read") as raised:
        SearchEngine({"REMIT_EMBEDDINGS": provider}).embedder()
    assert "REMIT_EMBEDDINGS=none" in str(raised.value.hint)


def test_a_table_that_is_cut_off_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("vocabulary.txt", "static.safetensors"):
        (tmp_path / name).write_bytes(Path(data_file(name)).read_bytes()[:1_000_000])
    monkeypatch.setattr("remit.search.embeddings.token_sequences._DATA", str(tmp_path))
    with pytest.raises(EmbeddingError, match="the bundled model cannot be read"):
        SearchEngine({}).embedder()


def test_one_query_is_embedded_without_numpy(sandbox: Sandbox) -> None:
    script = (
        "import sys; from remit.search.engine import SearchEngine; embedder = SearchEngine({}).embedder();"
        "embedder.embed_query('read a file'); print('numpy' in sys.modules);"
        "embedder.embed_tools([]); print('numpy' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], env=sandbox.environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["False", "True"]


def test_a_server_that_is_started_does_not_get_the_key_of_the_embeddings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REMIT_EMBEDDINGS_KEY", "sk-1")
    monkeypatch.setenv("OTHER_KEY", "sk-2")
    resources = bootstrap_gateway._launch_resources()  # pyright: ignore[reportPrivateUsage] - what all starts share
    environment = resources.ready(upstream(Launch(command="x"))).environment
    assert environment["OTHER_KEY"] == "sk-2"
    assert "REMIT_EMBEDDINGS_KEY" not in environment


def test_a_server_that_is_started_gets_nothing_that_leads_to_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REMIT_STORE", "postgresql://ada:hunter22@db.example/remit")
    monkeypatch.setenv("PGPASSWORD", "hunter22")
    resources = bootstrap_gateway._launch_resources()  # pyright: ignore[reportPrivateUsage] - what all starts share
    launch = Launch(command="x", args=("${REMIT_STORE:-none}", "${PGPASSWORD:-none}"))
    ready = resources.ready(upstream(launch))
    assert "hunter22" not in repr(ready)
    monkeypatch.delenv("REMIT_STORE")  # in SQLite, the variables are a server's own affair
    resources = bootstrap_gateway._launch_resources()  # pyright: ignore[reportPrivateUsage]
    assert resources.ready(upstream(Launch(command="x"))).environment["PGPASSWORD"] == "hunter22"


def test_servers_get_no_secret_of_who_runs_the_gateway(tmp_path: Path) -> None:
    own = {
        "REMIT_STORE": "postgresql://app@db/remit",
        "REMIT_STORE_ADMIN": "postgresql://boss@db/remit",
        "REMIT_STORE_KEY_FILE": "/run/key",
        "REMIT_CLIENT_SECRET": "secret",
        "PGPASSWORD": "secret",
        "PGSSLKEY": "/run/key",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=secret",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "authorization=secret",
    }
    others = {"OTEL_SERVICE_NAME": "remit", "PATH": "/bin"}
    machine = Machine(home=str(tmp_path), variables={**own, **others}, root=str(tmp_path))
    assert bootstrap_gateway._of_servers(machine) == others  # pyright: ignore[reportPrivateUsage] - all launches
    here = {name: value for name, value in own.items() if name.startswith("PG")}  # of a server's own database
    machine = Machine(home=str(tmp_path), variables={**here, **others}, root=str(tmp_path))
    assert bootstrap_gateway._of_servers(machine) == {**here, **others}  # pyright: ignore[reportPrivateUsage]
