"""The real loading code of Yelp, run against a local stand-in for the hub: no network, no Yelp text."""

import subprocess
import sys

from hub_stand_in import ROOT, load, stand_in_hub


def test_yelp_comes_in_the_sizes_of_the_course(tmp_path):
    with stand_in_hub() as hub:
        done = load(hub.url, tmp_path)
    assert done.returncode == 0, done.stderr
    # not "nvisit": the characters \n became a space
    assert done.stdout.splitlines()[:2] == ["8000 1000 1000", "[0, 1] ['place', 'visit', 'number']"]


def test_a_hub_that_cannot_be_reached_is_answered_with_what_to_do(tmp_path):
    answer = load("http://127.0.0.1:9", tmp_path)  # port 9: nobody listens
    assert "ConnectionError: Yelp reviews could not be loaded" in answer.stderr
    assert "the bundled film reviews need no network" in answer.stderr


def test_the_bundled_reviews_need_no_network_and_no_package_of_the_hub():
    code = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise AssertionError('asked for the network')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from shared.data import load_reviews\n"
        "print(len(load_reviews().train), 'datasets' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["7572", "False"], done.stderr
