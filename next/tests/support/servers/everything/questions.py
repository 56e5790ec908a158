"""The tools and the prompt of the everything-server that ask the client back."""

import json

import mcp_types as types
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from scripted import ROOTS, STRING, Call, Result, form, prompt, sample, says, takes, text, tool, user

MISSING_CAPABILITY = -32021
BOOLEAN: Result = {"type": "boolean"}


@tool(takes(prompt=STRING))
async def sampling(call: Call) -> Result:
    """Ask the client's model."""
    answer = await call.ask_one(sample(call.arguments["prompt"]))
    return says(text(f"LLM response: {answer.content.text}"))


@tool(takes(message=STRING))
async def elicitation(call: Call) -> Result:
    """Ask the user for a name and an address."""
    question = form(
        call.arguments["message"],
        username={**STRING, "description": "User's response"},
        email={**STRING, "description": "User's email address"},
    )
    return says(text(f"User response: {told(await call.ask_one(question))}"))


@tool()
async def elicitation_sep1034_defaults(call: Call) -> Result:
    """Ask the user with values that are there already."""
    question = form(
        "Please review",
        name={**STRING, "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={**STRING, "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return says(text(f"Elicitation completed: {told(await call.ask_one(question))}"))


@tool()
async def elicitation_sep1330_enums(call: Call) -> Result:
    """Ask the user to choose, in every way there is."""
    plain, titled = (
        ["option1", "option2", "option3"],
        [
            {"const": f"value{at}", "title": f"{word} Option"}
            for at, word in enumerate(("First", "Second"), 1)
        ],
    )
    question = form(
        "Please choose",
        untitledSingle={**STRING, "enum": plain},
        titledSingle={**STRING, "oneOf": titled},
        legacyEnum={**STRING, "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        untitledMulti={"type": "array", "items": {**STRING, "enum": plain}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return says(text(f"Elicitation completed: {told(await call.ask_one(question))}"))


def filled(answer: types.ElicitResult, name: str) -> object:
    return (answer.content or {}).get(name)


def told(answer: types.ElicitResult) -> str:
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@tool()
async def missing_capability(call: Call) -> Result:
    """Refuse a client that cannot sample."""
    if call.capabilities.sampling is None:
        needed: Result = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_CAPABILITY, "This tool needs the client to sample", needed)
    return says(text("the client can sample"))


@tool()
async def streaming_elicitation(call: Call) -> Result:
    """Ask the user, as part of the answer."""
    return says(text(told(await call.ask_one(form("Go on?", ok=BOOLEAN)))))


@tool()
async def input_required_result_elicitation(call: Call) -> Result:
    """Ask for a name and greet."""
    answer = await call.ask_one(form("What is your name?", name=STRING), "user_name")
    return says(text(f"Hello, {filled(answer, 'name')}!"))


@tool()
async def input_required_result_sampling(call: Call) -> Result:
    """Ask the client's model for a capital."""
    answer = await call.ask_one(sample("What is the capital of France?"))
    return says(text(answer.content.text))


@tool()
async def input_required_result_list_roots(call: Call) -> Result:
    """Ask for the client's roots."""
    answer = await call.ask_one(ROOTS, "client_roots")
    return says(text(", ".join(str(root.uri) for root in answer.roots)))


@tool()
async def input_required_result_request_state(call: Call) -> Result:
    """Ask, and want its state back."""
    await call.ask({"confirm": form("Please confirm", ok=BOOLEAN)}, "first")
    return says(text("state-ok" if call.state == "first" else "state lost"))


@tool()
async def input_required_result_tampered_state(call: Call) -> Result:
    """Ask, and want its state back untouched."""
    await call.ask({"confirm": form("Please confirm", ok=BOOLEAN)}, "first")
    return says(text("state-ok" if call.state == "first" else "state lost"))


@tool()
async def input_required_result_multiple_inputs(call: Call) -> Result:
    """Ask the user, the model and the client at once."""
    name = form("What is your name?", name=STRING)
    greeting = sample("Generate a greeting", 50)
    await call.ask({"user_name": name, "greeting": greeting, "client_roots": ROOTS}, "first")
    return says(text("all are here"))


@tool()
async def input_required_result_multi_round(call: Call) -> Result:
    """Ask twice, one after the other."""
    if call.state != "second":
        await call.ask({"step1": form("Step 1: What is your name?", name=STRING)}, "first")
    await call.ask({"step2": form("Step 2: What is your favorite color?", color=STRING)}, "second")
    return says(text("both steps are done"))


@tool()
async def input_required_result_capabilities(call: Call) -> Result:
    """Ask only what the client can answer."""
    can, questions = call.capabilities, dict[str, Result]()
    if can.elicitation is not None:
        questions["user_name"] = form("What is your name?", name=STRING)
    if can.sampling is not None:
        questions["greeting"] = sample("Generate a greeting", 50)
    if can.roots is not None:
        questions["client_roots"] = ROOTS
    await call.ask(questions)
    return says(text("asked what could be answered"))


@tool(takes(page=STRING))
async def visit(call: Call) -> Result:
    """Ask the user to go to a page, and tell the client when they are done there."""
    question = page(call.arguments["page"])
    answer = await call.ask_one({"method": "elicitation/create", "params": question})
    await call.request.session.send_elicit_complete(question["elicitationId"])
    return says(text(answer.action))


@tool(takes(page=STRING))
async def visit_first(call: Call) -> Result:
    """Refuse until the user has gone to a page."""
    asked = types.ElicitRequestURLParams.model_validate(page(call.arguments["page"]), by_name=False)
    raise UrlElicitationRequiredError([asked])


@tool(takes(page=STRING))
async def visited(call: Call) -> Result:
    """Tell whoever was asked to that the user was at a page."""
    await call.request.session.send_elicit_complete(call.arguments["page"])
    return says(text("told"))


def page(name: str) -> Result:
    url = f"https://tools.example/{name}"
    return {"mode": "url", "message": "Sign in", "url": url, "elicitationId": name}


@prompt()
async def input_required_result_prompt(call: Call) -> Result:
    """Prompt with what the user says."""
    answer = await call.ask_one(form("What context should the prompt use?", context=STRING))
    return user(text(f"Use {filled(answer, 'context')}"))
