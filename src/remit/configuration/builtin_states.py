"""The states that every workspace has without configuration."""

from remit.configuration.config_model import (
    ConfigurationContent,
    ConfigurationFile,
    ConfigurationLayer,
    LoadedFile,
    StateEntry,
)
from remit.configuration.detector_kinds import Detector, DetectorKind, GitFact

_FILE, _DIRECTORY = DetectorKind.FILE, DetectorKind.DIRECTORY


def _of_git(name: str, fact: GitFact, description: str) -> StateEntry:
    return StateEntry(name, "capability", description, Detector(DetectorKind.GIT, fact=fact))


def _with(kind: DetectorKind, name: str, paths: str, description: str, *implies: str) -> StateEntry:
    return StateEntry(
        name, "capability", description, Detector(kind, paths=tuple(paths.split())), tuple(implies)
    )


def _variable(name: str, variable: str, description: str) -> StateEntry:
    return StateEntry(name, "capability", description, Detector(DetectorKind.ENV, variable=variable))


STATES = (
    _of_git("git-initialized", GitFact.REPOSITORY, "The workspace is in a git repository"),
    _of_git("git-detached", GitFact.DETACHED, "No branch is checked out"),
    _of_git("git-merging", GitFact.MERGING, "A merge is in progress"),
    _of_git("git-rebasing", GitFact.REBASING, "A rebase is in progress"),
    _with(
        _FILE,
        "ci-configured",
        ".github/workflows/ .gitlab-ci.yml .circleci/config.yml Jenkinsfile azure-pipelines.yml "
        ".travis.yml bitbucket-pipelines.yml .forgejo/workflows/ .gitea/workflows/ .buildkite/ "
        ".drone.yml .woodpecker.yml",
        "A service for continuous integration is set up here",
    ),
    _with(
        _FILE,
        "python-project",
        "pyproject.toml setup.py setup.cfg requirements.txt Pipfile",
        "Python is used here",
    ),
    _with(_FILE, "node-project", "package.json", "Node.js is used here"),
    _with(_FILE, "typescript-project", "tsconfig.json", "TypeScript is used here", "node-project"),
    _with(_FILE, "rust-project", "Cargo.toml", "Rust is used here"),
    _with(_FILE, "go-project", "go.mod", "Go is used here"),
    _with(_FILE, "java-project", "pom.xml build.gradle build.gradle.kts", "Java or Kotlin is used here"),
    _with(_FILE, "ruby-project", "Gemfile", "Ruby is used here"),
    _with(_FILE, "php-project", "composer.json", "PHP is used here"),
    _with(_DIRECTORY, "has-tests", "tests test spec __tests__ e2e", "There is a directory of tests"),
    _with(_DIRECTORY, "has-docs", "docs doc documentation", "There is a directory of documentation"),
    _with(
        _FILE,
        "docker",
        "Dockerfile Containerfile compose.yaml compose.yml docker-compose.yaml docker-compose.yml",
        "Containers are described here",
    ),
    _with(_FILE, "makefile", "Makefile makefile GNUmakefile", "There is a makefile"),
    _with(_DIRECTORY, "terraform", ".terraform", "Terraform was initialized here"),
    _variable("ci", "CI", "Remit runs inside continuous integration"),
)

BUILTIN = LoadedFile(ConfigurationFile(ConfigurationLayer.BUILTIN, ""), ConfigurationContent(states=STATES))
