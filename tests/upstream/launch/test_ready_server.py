"""What a permit turns into, and what keeps a server from starting."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from remit.decision.declarations import Resolved
from remit.decision.declared_launch import Launch, VariableSyntax
from remit.decision.definitions.project_lock import LockedPackage, LockedServer, ProjectLock
from remit.decision.kinds import ConfigStatus
from remit.decision.projects import Workspace, identify
from remit.decision.scopes import Scope
from remit.trust.server_sandbox import ServerSandboxes
from remit.trust.start_permit import permit_start
from remit.upstream.launch.installed_packages import launched_package
from remit.upstream.launch.ready_server import NotReadyError, make_ready
from remit.upstream.upstream_model import Upstream
from support.builders import declared
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


def locked_server(root: Path, package: LockedPackage) -> Upstream:
    """A trusted server of a project whose lock has a package."""
    launch = Launch(command="npx", args=("-y", "notes"))
    entry = replace(
        declared("notes", Scope.PROJECT), launch=launch, source=str(root / ".mcp.json"), digest=launch.digest
    )
    workspace = Workspace(str(root), str(root), identify(str(root)))
    servers = {(".mcp.json", "notes"): LockedServer(launch.digest, package)}
    permit = permit_start(
        Resolved(declaration=entry, config_status=ConfigStatus.ENABLED),
        workspace,
        home="/",
        trusts={entry.key: launch.digest},
        sandboxes=ServerSandboxes([], {}, workspace, "/"),
        foreign=lambda _: frozenset(),
        lock=ProjectLock(root=str(root), servers=servers),
    )
    assert permit is not None
    return Upstream(key=entry.key, label="notes", client="claude-code", permit=permit, source=entry.source)


def test_a_server_starts_only_with_the_package_of_the_projects_lock(tmp_path: Path) -> None:
    copy = tmp_path / "node_modules/notes/package.json"
    copy.parent.mkdir(parents=True)
    copy.write_text(json.dumps({"name": "notes", "version": "2.0.0"}), "utf-8")
    now = launched_package(Launch(command="npx", args=("-y", "notes")), str(tmp_path), {}, "/")
    assert now is not None
    assert make_ready(locked_server(tmp_path, now), {}, "/").launch.command == "npx"
    with pytest.raises(NotReadyError, match=r"`remit.lock`: its package: version 1.0.0 -> 2.0.0"):
        make_ready(locked_server(tmp_path, now._replace(version="1.0.0")), {}, "/")
    (copy.parent / "index.js").write_text("evil()", "utf-8")
    with pytest.raises(NotReadyError, match=r"its package: files"):
        make_ready(locked_server(tmp_path, now), {}, "/")
