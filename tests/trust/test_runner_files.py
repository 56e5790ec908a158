import pytest

from remit.decision.declared_launch import Launch
from remit.trust.runner_files import CountedPart, launch_words, runner_directories, runner_files


def names(*words: str) -> set[str]:
    return {file.name for file in runner_files(words)}


def keys(*words: str) -> set[str]:
    (manifest,) = (file for file in runner_files(words) if file.name == "package.json")
    return {"/".join(path) for path in manifest.keys}


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("npx -y calc", ".npmrc"),
        ("/usr/bin/npx.cmd calc", ".npmrc"),
        ("env A=1 npx calc", ".npmrc"),
        ("pnpm dlx calc", ".pnpmfile.cjs"),
        ("yarn dlx calc", ".yarnrc.yml"),
        ("bunx calc", "bunfig.toml"),
        ("bun x calc", ".env"),
        ("uv run calc", "uv.toml"),
        ("uvx calc", ".tool-versions"),
        ("pipx run calc", "__pypackages__"),
        ("python3.12 -m calc", ".python-version"),
        ("docker compose run calc", "compose.yaml"),
        ("deno run calc.ts", "deno.json"),
        ("cargo run", ".cargo/config.toml"),
        ("go run .", "go.work"),
    ],
)
def test_a_runner_is_steered_by_the_files_that_it_reads(command: str, file: str) -> None:
    assert file in names(*command.split())


@pytest.mark.parametrize("command", ["calc-server --npx", "docker run calc", "./run.sh", ""])
def test_other_programs_are_steered_by_no_file(command: str) -> None:
    assert names(*command.split()) == set()


def test_uvx_ignores_the_settings_of_a_project() -> None:
    assert "uv.toml" not in names("uvx", "calc")


def test_a_runner_in_the_text_of_a_shell_counts() -> None:
    assert ".npmrc" in names(*launch_words(Launch(command="sh", args=("-c", "cd app&&npx calc"))))
    helper = Launch(url="https://x.test", headers_helper="npx token")
    assert ".npmrc" in names(*launch_words(helper))


def test_of_a_manifest_only_what_the_runner_follows_counts() -> None:
    assert keys("npx", "calc") == {"bin", "directories/bin"}
    assert {"scripts/calc", "scripts/precalc", "scripts/postcalc"} <= keys("npm", "run", "calc")
    assert "scripts/./calc" not in keys("npm", "run", "./calc")
    assert {"bin", "packageManager", "scripts/calc"} <= keys("pnpm", "calc")


@pytest.mark.parametrize("words", [("-m", "calc.server"), ("-mcalc",)])
def test_a_module_that_would_replace_the_installed_one_counts(words: tuple[str, ...]) -> None:
    found = {file.name: file.part for file in runner_files(("python", *words))}
    assert found["calc.py"] is found["calc/__init__.py"] is CountedPart.EXISTENCE
    assert "calc.py" not in names("node", "-m", "calc")
    assert "no module.py" not in names("python", "-m", "no module")


def directories(launch: Launch) -> list[str]:
    return runner_directories(launch, launch_words(launch), "/code/shop/app", "/code/shop")


def test_a_runner_looks_from_where_it_works_up_to_the_root_of_the_project() -> None:
    assert directories(Launch(command="npx")) == ["/code/shop/app", "/code/shop"]
    assert directories(Launch(command="npx", cwd="../lib")) == ["/code/shop/lib", "/code/shop"]
    assert directories(Launch(command="npx", cwd="${workspaceFolder}/x"))[0] == "/code/shop/app/x"
    assert directories(Launch(command="npx", cwd="/opt")) == []


@pytest.mark.parametrize("args", [("--prefix", "x"), ("--prefix=x",), ("-c", "cd x && npx calc")])
def test_a_directory_that_a_command_names_counts(args: tuple[str, ...]) -> None:
    assert "/code/shop/app/x" in directories(Launch(command="npx", args=args))
    assert directories(Launch(command="npx", args=("-C",))) == ["/code/shop/app", "/code/shop"]
