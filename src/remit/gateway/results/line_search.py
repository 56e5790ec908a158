"""Searches text by regular expression, in a process of its own that can be stopped."""

import json
import subprocess
import sys

from remit.presentation.results.excerpts import BadReadError, Match

SECONDS = 2.0
_MOST_MATCHES = 100_000
# A pattern can take forever, and nothing can interrupt it inside this process.
_SCRIPT = f"""
import json, re, sys
sys.set_int_max_str_digits(640)
asked = json.load(sys.stdin)
try:
    pattern = re.compile(asked["pattern"])
except (re.error, OverflowError, RecursionError) as error:
    sys.exit(json.dumps({{"problem": str(error)}}))
found = []
for number, line in enumerate(asked["text"].split("\\n")):
    match = pattern.search(line)
    if match is not None and len(found) < {_MOST_MATCHES}:
        found.append((number, match.start()))
print(json.dumps(found))
"""


def regex_matches(text: str, pattern: str) -> list[Match]:
    """Find the lines that match a regular expression.

    Raises:
        BadReadError: the pattern is invalid, or takes too long.
    """
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, with a fixed script
            [sys.executable, "-I", "-S", "-c", _SCRIPT],
            input=json.dumps({"pattern": pattern, "text": text}),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadReadError(f"the pattern takes longer than {SECONDS:g} s: use a simpler one") from None
    if done.returncode:
        raise BadReadError(f"`search` is not a regular expression: {_problem(done.stderr)}")
    return [Match(*each) for each in json.loads(done.stdout)]


def _problem(output: str) -> str:
    try:
        return str(json.loads(output)["problem"])
    except (ValueError, KeyError):
        return "it cannot be used"
