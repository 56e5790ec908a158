import pytest

from remit.decision.declared_launch import Launch, VariableSyntax
from remit.upstream.launch.ready_server import NotReadyError, make_ready
from remit.upstream.upstream_model import Upstream
from support.upstream_pools import upstream


def test_an_entry_may_name_a_directory_of_its_own() -> None:
    launch = Launch(command="run", cwd="../api")
    assert make_ready(upstream(launch, directory="/code/shop"), {}, "/").place == "/code/api"
    assert make_ready(upstream(Launch(command="run"), directory="/code/shop"), {}, "/").place == "/code/shop"


def test_the_variables_of_the_permitted_entry_are_expanded() -> None:
    launch = Launch(command="run", args=("${WORD}",), syntaxes=(VariableSyntax.DEFAULTS,))
    made = make_ready(upstream(launch), {"WORD": "hunter22"}, "/")
    assert made.launch.args == ("hunter22",)
    assert "hunter22" in made.secrets()
    assert "hunter22" not in repr(made)


def test_the_home_directory_is_no_secret() -> None:
    launch = Launch(command="run", args=("${HOME}/code",), syntaxes=(VariableSyntax.DEFAULTS,))
    assert "/home/ada" not in make_ready(upstream(launch), {"HOME": "/home/ada"}, "/home/ada").secrets()
    assert "/home/ada" in make_ready(upstream(launch), {"HOME": "/home/ada"}, "/home/eva").secrets()


def test_a_server_whose_variables_are_missing_is_not_ready() -> None:
    launch = Launch(command="run", args=("${WORD}",), syntaxes=(VariableSyntax.DEFAULTS,))
    with pytest.raises(NotReadyError, match="needs `WORD`"):
        make_ready(upstream(launch), {}, "/")


def test_nothing_starts_without_a_permit() -> None:
    own = Upstream(key=("x",), label="x", client="claude-code", permit=None, source="Remit")
    with pytest.raises(NotReadyError, match="may not be started"):
        make_ready(own, {}, "/")
