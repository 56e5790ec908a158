"""Every test gets a machine of its own, whose user approves of all projects' servers."""

import gc
import os
import signal
from collections.abc import Generator
from functools import cache
from pathlib import Path

import httpcore2
import pytest
from hypothesis import HealthCheck, settings

from support.collection_order import share_compilation
from support.long_tests import add_option, choose_part
from support.person_launch import play_person
from support.postgres import Databases, needs_postgres, postgres_databases, stores_in_postgres
from support.sandbox import Sandbox

STORE = os.environ.get("REMIT_TEST_STORE", "sqlite")
ON_POSTGRES = STORE != "sqlite"

# No test fails because the day is slow, and none by chance: only the proofs in full are ever new.
IS_FULL = "REMIT_PROOF_EXAMPLES" in os.environ
settings.register_profile(
    "patient",
    deadline=None,
    derandomize=not IS_FULL,
    max_examples=1_000 if IS_FULL else 50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("patient")

# A shell starts what runs in its background with interrupts ignored, and `nohup` with hangups ignored:
# processes of tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

play_person()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect tests without looking for garbage: what collection makes stays."""
    share_compilation(session.config)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(50_000, 20, 100)  # tests make much, and drop it all at their end


@pytest.fixture(scope="session", autouse=True)
def one_tls_context() -> Generator[None]:
    """Read the machine's certificates once: that takes 30 ms, and each HTTP client would do so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    made = Sandbox(root=tmp_path.resolve())
    made.home.mkdir()
    made.write(made.home / ".claude/settings.json", {"enableAllProjectMcpServers": True})
    return made


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    if ON_POSTGRES:  # many tests leave their store open, which PostgreSQL's driver minds
        for category in ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning"):
            config.addinivalue_line("filterwarnings", f"ignore::{category}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    choose_part(config, items)
    if ON_POSTGRES:
        for item in items:
            if item.get_closest_marker("sqlite_only"):
                item.add_marker(pytest.mark.skip(reason="about SQLite"))


@pytest.fixture(scope="session", autouse=True)
def store_of_choice() -> Generator[None]:
    """Run tests of the store, the registry and memory on PostgreSQL, if `make test-postgres` asks for it."""
    if not ON_POSTGRES:
        yield
        return
    with stores_in_postgres(without_filters=STORE == "postgres-without-filters"):
        yield


@pytest.fixture(scope="session")
def databases() -> Generator[Databases]:
    """Start one PostgreSQL for all tests of this process that need one, each in databases of its own."""
    with postgres_databases() as made:
        yield made


@pytest.fixture(
    params=["sqlite"] if ON_POSTGRES else ["sqlite", pytest.param("postgres", marks=needs_postgres)]
)
def store_place(request: pytest.FixtureRequest) -> Generator[str]:
    """Where a test opens its store: in memory, and once more in a new database of PostgreSQL."""
    if request.param == "sqlite":
        yield ":memory:"
        return
    databases: Databases = request.getfixturevalue("databases")
    address = databases.create()
    yield address
    databases.drop(address)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
