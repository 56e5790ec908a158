"""Warns about filters that are valid but probably not intended, from their source, without running them."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from textwrap import dedent
from typing import NamedTuple

from remit.decision.tool_names import MCP

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPARING = (ast.Compare, ast.Call, ast.Match)


class FilterRemark(NamedTuple):
    """A warning about a filter, with its line."""

    line: int
    message: str


def remarks(source: str) -> list[FilterRemark]:
    """List the warnings about the functions in a valid source."""
    tree = ast.parse(source)
    values = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    found = [remark for function in functions for remark in _compared(function, values)]
    near = [remark for node in tree.body if isinstance(node, _FUNCTIONS) for remark in _misnamed(node)]
    return sorted({*found, *near})


def remarks_of(function: object) -> list[FilterRemark]:
    """List the warnings about a function; none if its source cannot be read."""
    try:
        return remarks(dedent(inspect.getsource(function)))  # pyright: ignore[reportArgumentType] - it says no to others
    except (OSError, TypeError, SyntaxError):
        return []


def _compared(
    function: ast.FunctionDef | ast.AsyncFunctionDef, values: Mapping[str, ast.expr]
) -> Iterator[FilterRemark]:
    """Find comparisons of `tool.name` with canonical names, which it never equals."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    if len(parameters) < 2:
        return
    tool = parameters[1].arg
    for node in ast.walk(function):
        if not isinstance(node, _COMPARING):
            continue
        parts = [*ast.walk(node)]
        named = [values[each.id] for each in parts if isinstance(each, ast.Name) and each.id in values]
        texts = [each for whole in (node, *named) for each in ast.walk(whole) if _is_canonical(each)]
        if texts and any(_is_name_of(tool, each) for each in parts):
            message = (
                f"`{function.name}` compares `{tool}.name` with `{MCP}…`; it is the server's own name "
                f"(compare `{tool}.canonical_name`)"
            )
            yield FilterRemark(
                node.lineno if not isinstance(node, ast.Match) else node.subject.lineno, message
            )


def _is_canonical(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and MCP in node.value[: len(MCP) + 1]
    )


def _is_name_of(tool: str, node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr != "name":
        return False
    return isinstance(node.value, ast.Name) and node.value.id == tool


def _misnamed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[FilterRemark]:
    """Find public functions of two parameters that have one of the names of a filter's, but not both."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    is_near = len(names) == 2 and names != ["context", "tool"] and {"context", "tool"} & {*names}
    if is_near and not function.name.startswith("_"):
        message = f"`{function.name}` is not a filter: its parameters must be `(context, tool)`"
        yield FilterRemark(function.lineno, message)
