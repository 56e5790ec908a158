"""One PostgreSQL for all tests of this folder."""

from collections.abc import Generator

import pytest

from support.postgres import Databases, postgres_databases


@pytest.fixture(scope="session")
def databases() -> Generator[Databases]:
    with postgres_databases() as found:
        yield found
