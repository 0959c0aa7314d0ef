"""Every page of the site on a telephone and a desk, in both themes, by all rules of axe, and from a disk.

By day, a page of each kind.
"""

import pytest
from site_in_browser import SITE, axe
from test_site import PAGES

ALL = [*PAGES, "search", "404"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("name", ALL)
def test_a_page_is_accessible_to_the_last_rule(visit, address, name, width, theme):
    page = visit(f"{address}/{name}.html", theme, width)
    assert axe(page) == [] and page.faults == []


@pytest.mark.parametrize("name", ALL)
def test_a_page_works_from_a_disk(visit, name):
    page = visit((SITE / f"{name}.html").as_uri())
    assert page.faults == []
    assert [url for url in page.asked if not url.startswith((SITE.as_uri(), "data:", "blob:"))] == []
