"""The vector of a query, from a service that may be slow."""

import threading
from collections.abc import Generator

import pytest

from remit.errors import EmbeddingError
from remit.search.documents import build_document
from remit.search.embeddings.deadline_embedder import DeadlineEmbedder
from remit.search.embeddings.endpoint_embedder import EndpointEmbedder
from support.embedding_service import (
    PATIENCE,
    EmbeddingService,
    embedding_service,
    threads,
    wait_for_threads,
)

THREAD = "remit-query"


@pytest.fixture
def service() -> Generator[EmbeddingService]:
    with embedding_service() as service:
        yield service
    wait_for_threads(THREAD)


def hurried(service: EmbeddingService, seconds: float = 0.0) -> DeadlineEmbedder:
    return DeadlineEmbedder(EndpointEmbedder(service.url, "small"), seconds)


def test_a_vector_that_arrives_in_time_is_the_services_own(service: EmbeddingService) -> None:
    service.answer()
    embedder = hurried(service, PATIENCE)
    assert embedder.embed_query("a picture") == EndpointEmbedder(service.url, "small").embed_query(
        "a picture"
    )
    assert embedder.embed_tools([build_document("read")]) != []
    assert embedder.model == f"small@{service.host}"


def test_a_late_vector_fails_the_query_and_is_there_the_next_time(service: EmbeddingService) -> None:
    embedder = hurried(service)
    with pytest.raises(EmbeddingError, match="got no vector within 0 s"):
        embedder.embed_query("a picture")
    service.answer()
    wait_for_threads(THREAD)
    assert embedder.embed_query("a picture")
    assert service.requests == [["a picture"]]


def test_a_service_that_hangs_gets_one_request_at_a_time(service: EmbeddingService) -> None:
    embedder = hurried(service)
    for query in ("one", "two", "one"):
        with pytest.raises(EmbeddingError, match="got no vector"):
            embedder.embed_query(query)
    assert service.asked.wait(PATIENCE)
    assert service.requests == [["one"]]


def test_a_failure_in_time_is_the_services_own_and_is_not_kept(service: EmbeddingService) -> None:
    service.answer()
    service.status = 401
    embedder = hurried(service, PATIENCE)
    with pytest.raises(EmbeddingError, match="401 Unauthorized"):
        embedder.embed_query("a picture")
    service.status = 200
    assert embedder.embed_query("a picture")


def test_closing_interrupts_the_request_and_leaves_no_thread(service: EmbeddingService) -> None:
    embedder = hurried(service)
    with pytest.raises(EmbeddingError):
        embedder.embed_query("a picture")
    assert service.asked.wait(PATIENCE)
    assert len(threads(THREAD)) == 1
    embedder.close()  # the service still holds its answer
    assert threads(THREAD) == []
    hurried(service).close()


@pytest.mark.long
def test_only_the_last_queries_are_kept(service: EmbeddingService) -> None:
    service.answer()
    embedder = hurried(service, PATIENCE)
    for at in range(257):
        embedder.embed_query(str(at))
    embedder.embed_query("256")
    assert len(service.requests) == 257
    embedder.embed_query("0")
    assert len(service.requests) == 258


def test_a_closed_endpoint_waits_for_no_busy_service(service: EmbeddingService) -> None:
    service.answer()
    service.status = 503
    endpoint = EndpointEmbedder(service.url, "small")
    failures: list[EmbeddingError] = []

    def embed() -> None:
        try:
            endpoint.embed_tools([build_document("read")])
        except EmbeddingError as failure:
            failures.append(failure)

    thread = threading.Thread(target=embed)
    thread.start()
    assert service.asked.wait(PATIENCE)
    endpoint.close()
    thread.join(PATIENCE)
    assert len(failures) == 1
    with pytest.raises(EmbeddingError, match="cannot be reached"):
        endpoint.embed_query("read")
