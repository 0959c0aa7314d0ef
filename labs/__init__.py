"""A folder for each lab. Its checks are found by way of `checks`, which therefore comes first."""

import checks as checks
