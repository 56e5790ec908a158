"""Reading tools that a caller passes in."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from remit.search import Document, GivenTool, build_document, read_tool

SCHEMA = {"type": "object", "properties": {"repoPath": {"type": "string"}, "message": {}}}
WANTED = GivenTool(
    "git_commit",
    None,
    Document(
        "git commit",
        description="Record changes",
        params=("repo Path", "message"),
        keywords="git_commit repoPath",
    ),
)


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "git_commit", "description": "Record changes", "inputSchema": SCHEMA},
        {"name": "git_commit", "description": "Record changes", "input_schema": SCHEMA},
        {
            "type": "function",
            "function": {"name": "git_commit", "description": "Record changes", "parameters": SCHEMA},
        },
        {"type": "function", "name": "git_commit", "description": "Record changes", "parameters": SCHEMA},
        SimpleNamespace(name="git_commit", description="Record changes", inputSchema=SCHEMA),
        SimpleNamespace(name="git_commit", description="Record changes", input_schema=SCHEMA, parameters=1),
        SimpleNamespace(
            type="function",
            function=SimpleNamespace(name="git_commit", description="Record changes", parameters=SCHEMA),
        ),
        SimpleNamespace(name="git_commit", description="Record changes", params_json_schema=SCHEMA),
        {
            "type": "custom",
            "custom": {"name": "git_commit", "description": "Record changes", "parameters": SCHEMA},
        },
    ],
)
def test_a_tool_is_read_in_the_shapes_of_mcp_openai_and_anthropic(tool: object) -> None:
    assert read_tool(tool) == WANTED


class Arguments:
    """Stands in for a pydantic model."""

    @classmethod
    def model_json_schema(cls) -> object:
        return SCHEMA


def commit(repoPath: str, message: str) -> None: ...  # noqa: N803


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"args_schema": Arguments, "metadata": None}, id="LangChain"),
        pytest.param({"args_schema": SCHEMA}, id="LangChain with a schema"),
        pytest.param(
            {"function": commit, "function_schema": SimpleNamespace(json_schema=SCHEMA)}, id="Pydantic AI"
        ),
        pytest.param({"parameters_json_schema": SCHEMA}, id="Pydantic AI definition"),
        pytest.param(
            {
                "parameters": SimpleNamespace(
                    properties={"repoPath": SimpleNamespace(description=None), "message": None}
                )
            },
            id="Google",
        ),
    ],
)
def test_a_tool_is_read_in_the_shapes_of_frameworks(fields: dict[str, Any]) -> None:
    assert read_tool(SimpleNamespace(name="git_commit", description="Record changes", **fields)) == WANTED


def test_descriptions_of_a_schemas_objects_are_read() -> None:
    schema = SimpleNamespace(properties={"path": SimpleNamespace(description="the repository")})
    assert read_tool({"name": "x", "parameters": schema}) == read_tool(
        {"name": "x", "parameters": {"properties": {"path": {"description": "the repository"}}}}
    )


def test_a_function_is_read_by_its_name_its_docstring_and_its_parameters() -> None:
    def send_email(to: str, subject: str) -> None:
        """Send a message.

        To one person.
        """

    wanted = build_document("send_email", None, "Send a message. To one person.", ["to", "subject"])
    assert read_tool(send_email) == GivenTool("send_email", None, wanted)
    assert read_tool(partial(send_email, "ada")).document.name == "send email"


def test_methods_and_objects_that_can_be_called_are_functions_too() -> None:
    class Mailer:
        """Sends mails."""

        def send(self, to: str) -> None:
            """Send one."""

        def __call__(self, to: str) -> None: ...

    assert read_tool(Mailer().send) == GivenTool(
        "send", None, build_document("send", None, "Send one.", ["to"])
    )
    assert read_tool(Mailer()) == GivenTool(
        "Mailer", None, build_document("Mailer", None, "Sends mails.", ["to"])
    )
    assert read_tool(dict.fromkeys).name == "fromkeys"
    assert read_tool(print).name == "print"
    assert read_tool(type("Odd", (), {"__call__": 1, "__signature__": "none"})()).name == "Odd"


def test_a_tool_that_says_little_is_read_by_its_name() -> None:
    bare: list[Any] = [
        {"name": "search"},
        {"name": "search", "description": None, "inputSchema": None},
        {"name": "search", "description": 7, "input_schema": {"properties": ["x"]}},
        {"type": "search"},
        {"type": "mcp", "server_label": "search"},
        SimpleNamespace(kind="search"),
    ]
    assert [read_tool(tool) for tool in bare] == [GivenTool("search", None, Document("search"))] * 6


@pytest.mark.parametrize(
    "tool",
    [
        {"google_search": {}},
        {"function_declarations": [], "google_search": {}},
        SimpleNamespace(function_declarations=None, google_search=SimpleNamespace(), code_execution=None),
    ],
)
def test_a_tool_that_google_runs_is_read_by_its_field(tool: object) -> None:
    assert read_tool(tool) == GivenTool("google_search", None, build_document("google_search"))


def test_the_title_of_a_tool_is_read() -> None:
    assert read_tool({"name": "commit", "title": "Git Commit"}).document.title == "Git Commit"


def test_a_canonical_name_is_that_of_a_server_and_its_tool() -> None:
    assert read_tool({"name": "mcp__git__git_commit"}) == GivenTool(
        "git_commit", "git", build_document("git_commit", "git")
    )
    assert read_tool({"name": "mcp__git"}) == GivenTool("mcp__git", None, build_document("mcp__git"))


@pytest.mark.parametrize(
    ("tool", "named"),
    [
        ({}, "dict"),
        ({"description": "x"}, "dict"),
        (7, "int"),
        (None, "NoneType"),
        ("git_commit", "str"),
        ({"name": ""}, "dict"),
        (SimpleNamespace(), "types.SimpleNamespace"),
    ],
)
def test_an_unknown_format_is_an_error_that_names_the_type(tool: object, named: str) -> None:
    with pytest.raises(TypeError, match=f"cannot read a tool of type `{named}`.*; pass a function, or"):
        read_tool(tool)


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function"},
        {"type": "function", "function": {"description": "x"}},
        {"type": "function", "function": {"name": "", "description": "x"}},
        {"type": "function", "name": "", "parameters": {}},
        {"type": "custom"},
        {"type": "object", "properties": {}},
    ],
)
def test_a_function_needs_a_name(tool: dict[str, object]) -> None:
    keys = ", ".join(f"`{key}`" for key in tool)
    with pytest.raises(TypeError, match=f"of type `dict` with the keys {keys}, but no name; pass"):
        read_tool(tool)
