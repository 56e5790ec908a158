"""`python -m remit`."""

from remit.apps.entry import main

if __name__ == "__main__":
    main()
