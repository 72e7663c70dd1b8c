"""`python -m sqlrank` is the command `sqlrank`."""

import sys

from sqlrank.cli import main

if __name__ == "__main__":
    sys.exit(main())
