"""Serves the built site on this machine, on a free port or on the one given, and says the address."""

import functools
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).resolve().parents[1] / "_build/html"


def main(port: str) -> None:
    """Serve until Ctrl-C. `port` is a number as text; the empty text stands for any free one."""
    if not (SITE / "index.html").is_file():
        sys.exit("There is no site yet: run `make book` first.")
    if port and not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        sys.exit(f"PORT={port} is no port: give a number from 1 to 65535, or leave PORT out.")
    handler = functools.partial(SimpleHTTPRequestHandler, directory=SITE)
    try:
        server = ThreadingHTTPServer(("127.0.0.1", int(port or 0)), handler)
    except OSError as error:
        sys.exit(f"Port {port} cannot be used ({error.strerror}): choose another, or leave PORT out for a free one.")
    print(f"The course is at http://127.0.0.1:{server.server_port}/ until you press Ctrl-C.", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
