"""`python -m tidemark`: the command line where its script is not on the path."""

from tidemark.cli import main

if __name__ == "__main__":
    main()
