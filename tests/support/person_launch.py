"""Runs `remit` with these arguments as from a person's terminal, even if an agent runs the tests."""

from remit.cli.app import main
from remit.cli.approvals import person_check


def play_person() -> None:
    """Hide what started this process."""
    person_check.looks_at_processes = False


if __name__ == "__main__":
    play_person()
    main()
