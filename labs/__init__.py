"""A folder for each lab. Its checks are found by way of `checks`, which therefore comes before the folders."""

import ends as ends

import checks as checks  # isort: skip
