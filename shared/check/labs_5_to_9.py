"""The checks of labs 5 to 9: a walk by hand, heads, blocks, evidence.

Each is an `Exercise`, named in `__init__.py` in alphabetical order; `harness.py` says how one is made.
"""
