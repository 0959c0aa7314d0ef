"""A local fake of the Hugging Face hub that serves one made Yelp-like data set.

Nothing of Yelp is in it. It answers the requests that `datasets.load_dataset` makes, so that the real loading code is
what the tests run.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow
import pyarrow.parquet

ROOT = Path(__file__).resolve().parents[1]
NAME = "fancyzhx/yelp_polarity"
COMMIT = "a" * 40


def made_reviews(count: int) -> bytes:
    """A parquet file of `count` invented reviews; the text gives the label, and line breaks are the characters \\n."""
    texts = [f"{'awful' if i % 2 == 0 else 'lovely'} place\\nvisit number {i}" for i in range(count)]
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, "label": [i % 2 for i in range(count)]}), file)
    return file.getvalue()


FILES = {"train.parquet": made_reviews(9_000), "test.parquet": made_reviews(2_500)}


class Hub(BaseHTTPRequestHandler):
    """Answers for one data set."""

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0]
        if f"/{NAME}/resolve/" in path:
            self.answer(FILES.get(path.rpartition("/")[2]))
        elif f"/{NAME}/tree/" in path:
            listed = [{"type": "file", "path": name, "size": len(FILES[name]), "oid": name} for name in FILES]
            self.answer(json.dumps(listed).encode())
        elif path.startswith(f"/api/datasets/{NAME}"):
            files = [{"rfilename": name} for name in FILES]
            self.answer(json.dumps({"id": NAME, "sha": COMMIT, "private": False, "siblings": files}).encode())
        else:
            self.answer(None)

    def answer(self, content):
        """Send some bytes; None says that there is no such file."""
        self.send_response(200 if content else 404)
        headers = {"X-Repo-Commit": COMMIT} if content else {"X-Error-Code": "EntryNotFound"}
        content = content or b"{}"
        headers |= {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "Content-Length": str(len(content))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextmanager
def serve_hub():
    """Serve on a free local port; yields the server, whose `url` goes into HF_ENDPOINT."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


# The hub's client waits longer after each failed try; the tests need its tries, not its waiting.
LOAD = """
import time
time.sleep = lambda seconds: None
from shared.data import load_reviews, tokenize
reviews = load_reviews("yelp", "quick")
print(len(reviews.train), len(reviews.validation), len(reviews.test))
print(sorted(set(reviews.train.labels.tolist())), tokenize(reviews.train.texts[0])[1:4])
"""


def load(url: str, home) -> subprocess.CompletedProcess:
    """Load in a process of its own: the hub's client reads its settings once, when it is imported."""
    environment = dict(os.environ, HF_ENDPOINT=url, HF_HOME=str(home), HF_HUB_DISABLE_XET="1", TQDM_DISABLE="1")
    command = [sys.executable, "-c", LOAD]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)
