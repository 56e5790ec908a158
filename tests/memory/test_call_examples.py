"""Every example that a model is shown is a call that works."""

import json

from remit.memory.call_examples import EXAMPLES, example_call
from remit.memory.scope_gate import TOOLS
from support.sandbox import Sandbox


def test_every_tool_has_an_example_and_every_example_works(sandbox: Sandbox) -> None:
    sandbox.project("shop")
    assert tuple(EXAMPLES) == TOOLS
    with sandbox.memory() as memory:
        memory.save_session({**EXAMPLES["save_session"], "project_id": "shop-1"})
        for tool in TOOLS:
            name, _, arguments = example_call(tool, "shop-1").partition("(")
            answer = getattr(memory, name)(json.loads(arguments.removesuffix(")")))
            assert str(getattr(answer, "status", "saved")) in ("saved", "duplicate_skip", "deleted"), tool
