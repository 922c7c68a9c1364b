"""`python -m holdfast`: the command, for a Python whose scripts are not on the path."""

from holdfast.cli import main

if __name__ == "__main__":
    main()
