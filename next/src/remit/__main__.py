"""The command `remit`."""


def main() -> None:
    """Run the command."""
    from remit.cli import main as run

    run()


if __name__ == "__main__":
    main()
