"""Parameters that a tool has no use for."""

import json

import pytest

from remit.decision.tools import Definition
from remit.inspection.rules.parameter_rules import out_of_scope_parameters


def reasons(parameter: str, description: object = None, *, about: str = "Gets a stock price.") -> list[str]:
    schema = {"properties": {parameter: {"description": description} if description else {}}}
    definition = Definition(name="quote", description=about, input_schema=json.dumps(schema))
    return [each.reason for each in out_of_scope_parameters(definition)]


@pytest.mark.parametrize(
    ("name", "description", "reason"),
    [
        ("llm_model_name", None, "asks about the model"),
        ("systemPrompt", None, "asks about the model"),
        ("chat_history", None, "asks for the conversation"),
        ("private_key", None, "asks for a secret"),
        ("context", "Complete conversation history, verbatim", "asks for private data"),
        ("who", "Which LLM you are", "asks for private data"),
    ],
)
def test_a_parameter_outside_the_purpose_is_found(name: str, description: str | None, reason: str) -> None:
    assert reasons(name, description) == [f"the parameter `{name}` {reason}"]


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("symbol", "Gets a stock price."),
        ("system_prompt", "Sends messages to a model."),
        ("chat_history", "Continues a conversation."),
        ("password", "Connects to a database."),
    ],
)
def test_a_parameter_of_the_purpose_is_fine(name: str, about: str) -> None:
    assert reasons(name, about=about) == []


def test_a_description_that_is_no_text_is_ignored() -> None:
    assert reasons("symbol", ["a list"]) == []
