import shlex

import pytest

from remit.trust.package_commands import package_command, unpinned

COMMIT = "4b1f0c9d5e6a7788990011223344556677889900"


@pytest.mark.parametrize(
    ("line", "name", "pinned"),
    [
        ("npx -y @acme/server", "@acme/server", "{}@<version>"),
        ("npx server", "server", "{}@<version>"),
        ("npx --yes server@latest --port 1", "server", "{}@<version>"),
        ("npx server@^1.2.0", "server", "{}@<version>"),
        ("npx server@1", "server", "{}@<version>"),
        ("npx -y @acme/server@next /data", "@acme/server", "{}@<version>"),
        ("npx -p @acme/server run-it", "@acme/server", "{}@<version>"),
        ("npx --package=@acme/server run-it", "@acme/server", "{}@<version>"),
        ("npx --registry http://localhost:4873 server", "server", "{}@<version>"),
        ("/usr/local/bin/npx server", "server", "{}@<version>"),
        ("C:\\node\\npx.cmd server", "server", "{}@<version>"),
        ("cmd /c npx -y server", "server", "{}@<version>"),
        ("cmd.exe /d /c npx -y server", "server", "{}@<version>"),
        ("env A=1 B=2 npx server", "server", "{}@<version>"),
        ("bunx server", "server", "{}@<version>"),
        ("bun x server", "server", "{}@<version>"),
        ("pnpm dlx server", "server", "{}@<version>"),
        ("yarn dlx server", "server", "{}@<version>"),
        ("npx -y github:acme/server", "github:acme/server", "{}#<commit>"),
        ("npx -y github:acme/server#main", "github:acme/server", "{}#<commit>"),
        ("npx -y acme/server", "acme/server", "{}#<commit>"),
        ("uvx server", "server", "{}@<version>"),
        ("uvx server@latest", "server", "{}@<version>"),
        ("uvx --python 3.12 --with pillow server run", "server", "{}@<version>"),
        ("uvx --from server[cli] run-it", "server[cli]", "{}==<version>"),
        ("uvx --from server>=1.0 run-it", "server", "{}==<version>"),
        ("uvx --from server==1.* run-it", "server", "{}==<version>"),
        ("uv tool run server", "server", "{}@<version>"),
        ("pipx run --spec server run-it", "server", "{}==<version>"),
        ("uvx --from git+https://git.test/acme/x run", "git+https://git.test/acme/x", "{}@<commit>"),
        ("uvx --from git+https://git.test/acme/x@main run", "git+https://git.test/acme/x", "{}@<commit>"),
        ("uvx --from git+ssh://git@git.test/acme/x run", "git+ssh://git@git.test/acme/x", "{}@<commit>"),
        ("docker run -i --rm mcp/fetch", "mcp/fetch", "{}:<tag>` or `{}@sha256:<digest>"),
        ("docker run -it -eKEY -e TOKEN -v /a:/b mcp/fetch:latest", "mcp/fetch", None),
        (
            "docker run --mount type=bind,src=/a,dst=/b --init --name=x ghcr.io/acme/x arg:1",
            "ghcr.io/acme/x",
            None,
        ),
        ("docker container run localhost:5000/x", "localhost:5000/x", None),
        ("podman run --rm -i --network host x", "x", None),
    ],
)
def test_a_package_without_a_version_is_named(line: str, name: str, pinned: str | None) -> None:
    found = unpinned(line.split(" "))
    assert found is not None
    assert found.name == name
    assert pinned is None or found.pinned == pinned


@pytest.mark.parametrize(
    "line",
    [
        "npx -y @acme/server@1.2.3",
        "npx server@1.2.3-beta.1",
        "npx -y ./server",
        "npx -y /opt/server",
        "npx -y ../server.tgz",
        "npx -y https://files.test/server-1.2.3.tgz",
        f"npx -y github:acme/server#{COMMIT}",
        f"npx -y git+https://git.test/acme/server.git#{COMMIT[:7]}",
        "npx -y ${PACKAGE}",
        "npx -c run-it",
        "npx",
        "npx -p",
        "uvx server@1.2.3",
        "uvx --from server==1.2 run-it",
        "uvx --from . run-it",
        "uvx --from ./dist/server-1.2-py3-none-any.whl run-it",
        f"uvx --from git+https://git.test/acme/x@{COMMIT}#subdirectory=y run-it",
        "uvx https://files.test/server.whl",
        "uv run --directory /opt/server server",
        "docker run -i --rm mcp/fetch:1.4",
        "docker run mcp/fetch@sha256:9f86d081",
        "docker run --rm {env:IMAGE}",
        "docker mcp gateway run",
        "docker compose run x",
        "node /opt/server.js",
        "python -m server",
        "cmd /c",
        "env A=1",
        "sh /opt/run.sh",
        "bash",
    ],
)
def test_what_is_local_or_has_a_version_is_not(line: str) -> None:
    assert unpinned(line.split(" ")) is None


def test_a_line_for_a_shell_is_read() -> None:
    found = unpinned(["bash", "-lc", "npx -y server"])
    assert found is not None
    assert found.name == "server"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("npx -y @x/files@1.2.3 /data", ("npm", "@x/files", "1.2.3", True, ("/data",))),
        ("npx -p plain run", ("npm", "plain", None, True, ("run",))),
        ("npx github:x/y", ("npm", "github:x/y", None, False, ())),
        ("uvx time==1.0", ("pypi", "time", "1.0", True, ())),
        ("uvx --from git+https://x.test/y y", ("pypi", "git+https://x.test/y", None, False, ("y",))),
        ("uvx --from ./y y", ("pypi", "./y", None, False, ("y",))),
        ("uvx 'a b'", ("pypi", "a b", None, True, ())),
        ("docker run -i host:5000/x/y:2 --all", ("oci", "host:5000/x/y", "2", True, ("--all",))),
        ("docker run x@sha256:0", ("oci", "x", "sha256:0", True, ())),
    ],
)
def test_a_command_tells_its_package(words: str, found: tuple[object, ...]) -> None:
    command = package_command(shlex.split(words))
    assert command is not None
    told = (command.kind, command.name, command.version, command.is_of_registry, command.rest)
    assert told == found


def test_other_commands_have_no_package() -> None:
    assert package_command(["node", "x.js"]) is None
    assert package_command(["npx", "${PACKAGE}"]) is None
