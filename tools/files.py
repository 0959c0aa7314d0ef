"""How a tool ends: with a sentence where a text is malformed, after Ctrl-C, and where a file cannot
be written.
"""

import re
import sys
from collections.abc import Callable


def run(main: Callable[..., int], *arguments) -> None:
    """Run a tool and leave Python with its exit status."""
    try:
        sys.exit(main(*arguments))
    except ValueError as error:
        sys.exit(str(error))
    except OSError as error:
        # A file is written under a hidden name first (shared/record.py): readers know the one that
        # it gets.
        name = re.sub(r"/\.([^/]+)\.part$", r"/\1", str(error.filename or "A file"))
        sys.exit(f"{name} could not be written or read: {error.strerror}.")
    except KeyboardInterrupt:
        sys.exit("\nStopped. Nothing was left half written.")
