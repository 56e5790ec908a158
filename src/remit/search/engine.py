"""Opens the configured embedder and index; like `bootstrap`, it imports late."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from remit import settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from remit.search.ports import Embedder, Index, IndexEntry
    from remit.search.ranking import Fusion, RankFusion

WORDS = "words"  # no embeddings
ENDPOINT = "endpoint"  # the endpoint that the environment configures
PROVIDERS = ("static", "onnx", ENDPOINT, WORDS)


class SearchEngine:
    """Opens the configured embedder and index on first use."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._opened: Embedder | None = None
        self._for_queries: Embedder | None = None

    @property
    def model(self) -> str | None:
        """The name of the model, without opening it; None if search uses words alone."""
        return settings.embeddings(self._variables).name

    @property
    def fusion(self) -> RankFusion | None:
        """Rank fusion, if configured."""
        from remit.search.ranking import RankFusion

        return RankFusion() if settings.fuses_ranks(self._variables) else None

    def embedder(self) -> Embedder:
        """Open the model.

        Raises:
            BadVariableError: a variable names an unknown provider.
            EmbeddingError: the provider is not installed, or its key would not be sent safely.
        """
        if self._opened is None:
            self._opened = open_embedder(settings.embeddings(self._variables))
        return self._opened

    @property
    def is_remote(self) -> bool:
        """Whether the model is a service, which may take seconds."""
        return settings.embeddings(self._variables).provider not in settings.PROVIDERS

    def query_embedder(self) -> Embedder:
        """Open the model for searches, which wait for a service only shortly.

        Raises:
            BadVariableError: a variable names an unknown provider.
            EmbeddingError: the provider is not installed, or its key would not be sent safely.
        """
        if not self.is_remote:
            return self.embedder()
        if self._for_queries is None:
            from remit.search.embeddings.deadline_embedder import DeadlineEmbedder

            wait = settings.embeddings(self._variables).wait
            self._for_queries = DeadlineEmbedder(self.embedder(), wait)
        return self._for_queries

    def in_memory(self, entries: Iterable[IndexEntry], fusion: Fusion) -> Index:
        """Build an in-memory index."""
        from remit.search.array_index import ArrayIndex

        return ArrayIndex(entries, fusion)


def open_engine(provider: str | None = None) -> SearchEngine:
    """Open the engine of one of `PROVIDERS`, or the configured one.

    Raises:
        BadVariableError: a variable names an unknown provider.
        EmbeddingError: no endpoint is configured.
    """
    if provider == ENDPOINT and ENDPOINT not in providers():
        from remit.errors import EmbeddingError

        raise EmbeddingError("no endpoint is set", hint="set `REMIT_EMBEDDINGS` to its URL")
    if provider is None or provider == ENDPOINT:
        return SearchEngine(os.environ)
    return SearchEngine({**os.environ, "REMIT_EMBEDDINGS": "none" if provider == WORDS else provider})


def providers() -> tuple[str, ...]:
    """List the available `PROVIDERS`; `endpoint` needs a configured URL.

    Raises:
        BadVariableError: a variable names an unknown provider.
    """
    has_endpoint = settings.embeddings(os.environ).provider not in settings.PROVIDERS
    return tuple(name for name in PROVIDERS if name != ENDPOINT or has_endpoint)


def open_embedder(chosen: settings.Embeddings) -> Embedder:
    """Open an embedder.

    Raises:
        EmbeddingError: the provider is missing or damaged, or its key would not be sent safely.
    """
    if chosen.provider == "static":
        from remit.search.embeddings.static_embedder import StaticEmbedder

        with _damage_translated():
            return StaticEmbedder()
    if chosen.provider == "onnx":
        return _open_onnx()
    from remit.search.embeddings.endpoint_embedder import EndpointEmbedder

    return EndpointEmbedder(chosen.provider, chosen.model, chosen.key)


def _open_onnx() -> Embedder:
    from remit.errors import EmbeddingError

    try:
        from remit.search.embeddings.onnx_embedder import OnnxEmbedder
    except ModuleNotFoundError as error:
        from remit.files.own_environment import own_environment

        install = own_environment().add_command("onnxruntime")
        raise EmbeddingError(
            f"the embeddings `onnx` need `{error.name}`, which is not installed",
            hint=f"run `{install}`, or set `REMIT_EMBEDDINGS=static`",
        ) from error
    with _damage_translated():
        return OnnxEmbedder()


@contextmanager
def _damage_translated() -> Generator[None]:
    from remit.errors import EmbeddingError

    try:
        yield
    except Exception as error:  # onnxruntime's errors have no narrower base class
        raise EmbeddingError(
            f"the bundled model cannot be read ({type(error).__name__})",
            hint="install Remit again, or set `REMIT_EMBEDDINGS=none` to search by words",
        ) from error
