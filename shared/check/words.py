"""The words of the checks in the reader's language: `_("...")` looks them up in the catalogue, `shared/locale`.

English needs no catalogue; what one lacks stays English. The language is that of _config.yml; for one run,
COURSE_LANGUAGE in the environment chooses another.
"""

import gettext
import os
from pathlib import Path

# identity: LANGUAGE = "{language}"
LANGUAGE = "en"

FOLDER = Path(__file__).resolve().parents[1] / "locale"
catalogue = gettext.translation("course", FOLDER, [os.environ.get("COURSE_LANGUAGE") or LANGUAGE], fallback=True)


def _(text: str) -> str:
    return catalogue.gettext(text)


def ngettext(one: str, many: str, count: int) -> str:
    """One of two texts by a number; other languages have more than two."""
    return catalogue.ngettext(one, many, count)
