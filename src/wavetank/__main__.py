"""``python -m wavetank``: the command line, where there is an interpreter and no script."""

from wavetank.cli.main import main

if __name__ == "__main__":
    main()
