"""Every page of the site on a telephone and a desk, in both themes, by all rules of axe. By day: one of each kind."""

import pytest
from site_in_browser import axe
from test_site import PAGES


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("name", [*PAGES, "search", "404"])
def test_a_page_is_accessible_to_the_last_rule(visit, address, name, width, theme):
    page = visit(f"{address}/{name}.html", theme, width)
    assert axe(page) == [] and page.faults == []
