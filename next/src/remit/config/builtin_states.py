"""The states that every workspace has without configuration, as a file would declare them."""

from collections.abc import Mapping
from typing import Any

_Table = Mapping[str, Any]


def _git(fact: str, description: str) -> _Table:
    return {"description": description, "git": fact}


def _with(paths: str, description: str, **more: object) -> _Table:
    return {"description": description, "file": paths.split(), **more}


STATES: Mapping[str, _Table] = {
    "git-initialized": _git("repository", "The workspace is in a git repository"),
    "git-detached": _git("detached", "No branch is checked out"),
    "git-merging": _git("merging", "A merge is in progress"),
    "git-rebasing": _git("rebasing", "A rebase is in progress"),
    "ci-configured": _with(
        ".github/workflows/ .gitlab-ci.yml .circleci/config.yml Jenkinsfile azure-pipelines.yml "
        ".travis.yml bitbucket-pipelines.yml .forgejo/workflows/ .gitea/workflows/ .buildkite/ "
        ".drone.yml .woodpecker.yml",
        "A service for continuous integration is set up here",
    ),
    "python-project": _with(
        "pyproject.toml setup.py setup.cfg requirements.txt Pipfile", "Python is used here"
    ),
    "node-project": _with("package.json", "Node.js is used here"),
    "typescript-project": _with("tsconfig.json", "TypeScript is used here", implies=["node-project"]),
    "rust-project": _with("Cargo.toml", "Rust is used here"),
    "go-project": _with("go.mod", "Go is used here"),
    "java-project": _with("pom.xml build.gradle build.gradle.kts", "Java or Kotlin is used here"),
    "ruby-project": _with("Gemfile", "Ruby is used here"),
    "php-project": _with("composer.json", "PHP is used here"),
    "has-tests": _with("tests/ test/ spec/ __tests__/ e2e/", "There is a directory of tests"),
    "has-docs": _with("docs/ doc/ documentation/", "There is a directory of documentation"),
    "docker": _with(
        "Dockerfile Containerfile compose.yaml compose.yml docker-compose.yaml docker-compose.yml",
        "Containers are described here",
    ),
    "makefile": _with("Makefile makefile GNUmakefile", "There is a makefile"),
    "terraform": _with(".terraform/", "Terraform was initialized here"),
    "ci": {"description": "Remit runs inside continuous integration", "env": "CI"},
}
