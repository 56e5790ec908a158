"""`python -m remit.cli.onboarding.demo_person`: the person in a demo approves a call, whoever started it."""

import os
import sys

from remit.cli.app import main
from remit.cli.approvals import person_check

_WORLD = "remit-demo-"  # how the folders of demos begin


def play_person() -> None:
    """Run the command; only `approve` in a demo's own store gets by without a person."""
    store = os.path.realpath(os.environ.get("REMIT_HOME", ""))
    if sys.argv[1:2] == ["approve"] and any(part.startswith(_WORLD) for part in store.split(os.sep)):
        person_check.looks_at_processes = False
    main()


if __name__ == "__main__":
    play_person()
