"""`python -m remit`."""

from remit.apps.cli.main import main

if __name__ == "__main__":
    main()
