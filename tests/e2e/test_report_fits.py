"""The report in windows of two widths, by the keyboard alone, and on paper."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import pairwise

import pytest
from browsers import browser_is_possible
from printed_pages import Piece, pieces

pytestmark = browser_is_possible

# Everything that a reader can open is open, and all rows of long tables are made.
OPEN_ALL = """
    document.querySelectorAll('main details').forEach(each => { each.open = true; });
    document.querySelectorAll('main .apart-button').forEach(
      (each, i) => { if (i % 7 === 0) each.click(); });
    document.querySelectorAll('.switchable').forEach(
      each => each.querySelectorAll(':scope > .variant').forEach(v => { v.hidden = false; }));
"""

# What is beyond the window without a box in which it can be scrolled to, and what a box hides.
CUT_OFF = """
    const shown = [...document.querySelectorAll('body *')].filter(
      each => each.checkVisibility() && !each.closest('.hidden, .skip, svg, noscript'));
    const name = (each) => `${each.tagName} ${each.className} ${each.closest('[id]')?.id}: ${each.textContent.trim().slice(0, 40)}`;
    const found = [];
    for (const each of shown) {
      const box = each.getBoundingClientRect();
      if (box.width === 0) continue;
      const scrolls = each.parentElement.closest('.scroll, .canvas, pre, nav') !== null;
      if (!scrolls && (box.right > innerWidth + 1 || box.left < -1)) found.push(`beyond the window: ${name(each)}`);
      const style = getComputedStyle(each);
      const hides = ['hidden', 'clip'].includes(style.overflowX);
      if (hides && each.scrollWidth > each.clientWidth + 1) found.push(`hidden: ${name(each)}`);
    }
    for (const each of document.querySelectorAll('main table, main svg.plot')) {
      if (!each.checkVisibility()) continue;
      const inBox = each.closest('.scroll, .canvas, .apart');
      if (inBox === null) { found.push(`in no box: ${name(each)}`); continue; }
      const reach = inBox.getBoundingClientRect().left + inBox.scrollWidth - inBox.scrollLeft;
      if (each.getBoundingClientRect().right > reach + 1) found.push(`beyond its box: ${name(each)}`);
    }
    for (const svg of document.querySelectorAll('svg.plot')) {
      if (!svg.checkVisibility()) continue;
      const all = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll('text')) {
        const box = text.getBoundingClientRect();
        if (box.left < all.left - 1 || box.right > all.right + 1 || box.top < all.top - 1 || box.bottom > all.bottom + 1) {
          found.push(`beyond its plot: ${name(text)}`);
        }
      }
    }
    return [document.documentElement.scrollWidth, document.querySelectorAll('svg.plot text').length, found];
"""


@pytest.fixture(scope="module")
def page(report, chromium):
    chromium.get(report.as_uri())
    return chromium


@pytest.fixture
def window(page) -> Iterator[object]:
    """Give the window a width in pixels."""

    def set_width(width: int) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    yield set_width
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("width", [1400, 800, 400, 360])
def test_nothing_is_cut_off_whatever_is_open(page, window, width) -> None:
    page.refresh()
    window(width)
    for what in ("", OPEN_ALL):
        page.execute_script(what)
        wide, n_words, found = page.execute_script(CUT_OFF)
        assert wide <= width
        assert n_words > 500
        assert found == []


# Names of cells, in a narrow window, that are higher than their cells: they lie over the next one.
OVER_THE_NEXT = """
    return [...document.querySelectorAll('main .labelled td')].filter(each => each.checkVisibility() &&
      parseFloat(getComputedStyle(each, '::before').height) > each.clientHeight + 1).map(each => each.dataset.h);
"""


def test_in_a_narrow_window_no_name_of_a_cell_lies_over_the_next_one(page, window) -> None:
    page.refresh()
    window(400)
    page.execute_script(OPEN_ALL)
    assert page.execute_script(OVER_THE_NEXT) == []
    page.execute_script(
        "document.querySelector('main .labelled td[data-h]').dataset.h = 'w '.repeat(300);"
    )
    assert page.execute_script(OVER_THE_NEXT) == []  # the cell grows with its name


def keys(page, text: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(page, duration=0).send_keys(text).perform()


def test_the_keyboard_reaches_every_control_in_order_and_shows_where_it_is(page) -> None:
    from selenium.webdriver import Keys

    page.refresh()
    page.execute_script("document.getElementById('all').open = true;")
    n_controls = page.execute_script(
        """window.reached = [];
           document.addEventListener('focusin', event => {
             const style = getComputedStyle(event.target);
             window.reached.push([event.target, style.outlineStyle !== 'none' && style.outlineWidth !== '0px']);
           });
           window.controls = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]
             .filter(each => each.checkVisibility() && each.tabIndex >= 0);
           return window.controls.length"""
    )
    assert n_controls > 100
    keys(page, Keys.TAB * n_controls)
    missed, order, unseen = page.execute_script(
        """const reached = window.reached.map(([each]) => each);
           const name = each => `${each.tagName} ${each.className} ${each.textContent.slice(0, 30)}`;
           return [window.controls.filter(each => !reached.includes(each)).map(name),
                   reached.map(each => window.controls.indexOf(each)),
                   window.reached.filter(([, seen]) => !seen).map(([each]) => name(each))]"""
    )
    assert missed == []
    assert order == sorted(order)
    assert unseen == []


def test_the_keyboard_operates_each_kind_of_control(page) -> None:
    from selenium.webdriver import Keys

    page.refresh()
    page.execute_script("document.getElementById('all').open = true;")

    def at(selector: str, key: str, state: str) -> tuple[object, object]:
        """What ``state`` says of a control before and after a key."""
        look = f"const it = document.querySelector(arguments[0]); {state}"
        page.execute_script("document.querySelector(arguments[0]).focus()", selector)
        before = page.execute_script(look, selector)
        keys(page, key)
        return before, page.execute_script(look, selector)

    pressed = "return it.getAttribute('aria-pressed')"
    expanded = (
        "return [it.getAttribute('aria-expanded'), document.querySelectorAll('.apart').length]"
    )
    bars = "return it.closest('.explore').querySelectorAll('.bars > li').length"
    ranking = "#app1-ranking-time"
    assert at("#theme", Keys.ENTER, "return it.textContent") == ("Theme: auto", "Theme: light")
    keys(page, Keys.ENTER * 2)
    assert at("details.more > summary", Keys.ENTER, "return it.parentElement.open") == (False, True)
    assert at("details.more > summary", Keys.SPACE, "return it.parentElement.open") == (True, False)
    sort = "return it.closest('th').getAttribute('aria-sort')"
    assert at(f"{ranking} th button", Keys.ENTER, sort) == (None, "ascending")
    assert at(f"{ranking} th button", Keys.SPACE, sort) == ("ascending", "descending")
    assert at(f"{ranking} .apart-button", Keys.ENTER, expanded) == (["false", 0], ["true", 1])
    assert at(f"{ranking} .apart-button", Keys.ENTER, expanded) == (["true", 1], ["false", 0])
    assert at(".switch button + button", Keys.SPACE, pressed) == ("false", "true")
    assert at("#app1-explore input[type=search]", "nfs", bars) == (10, 2)
    metric = "return [it.value, it.closest('.explore').querySelector('.bars b').textContent]"
    before, after = at("#app1-explore select", Keys.ARROW_DOWN, metric)
    assert before != after and before[0] != after[0]
    assert at(".skip", Keys.ENTER, "return location.hash") == ("", "#main")


def printed(page, width_in: float, height_in: float) -> list[Piece]:
    asked = {
        "printBackground": True,
        "generateTaggedPDF": True,
        "paperWidth": width_in,
        "paperHeight": height_in,
    }
    answer = page.execute_cdp_cmd("Page.printToPDF", asked)
    return pieces(base64.b64decode(answer["data"]))


def orphans(found: list[Piece], kind: str) -> list[tuple[int, int]]:
    """Pages of the ends of elements of a kind, and of what follows, where those are two."""
    return [
        (piece.page, after.page)
        for piece, after in pairwise(found)
        if (number := piece.inside(kind)) is not None
        and number != after.inside(kind)
        and piece.page != after.page
    ]


def header_rows(found: list[Piece]) -> list[tuple[int, int]]:
    """Of each table: the pages of its header's end and of its first row."""
    rows = []
    for piece, after in pairwise(found):
        is_edge = piece.inside("TH") is not None and after.inside("TD") is not None
        if is_edge and piece.inside("Table") == after.inside("Table"):
            rows.append((piece.page, after.page))
    return rows


# A4 and letter as people print them, and low pages, on which a break comes more often.
@pytest.mark.parametrize(("width_in", "height_in"), [(8.27, 11.69), (11, 8.5), (8.27, 6)])
def test_no_heading_and_no_header_of_a_table_is_left_alone_at_the_end_of_a_page(
    page, width_in, height_in
) -> None:
    found = printed(page, width_in, height_in)
    assert {piece.inside("H1") is not None for piece in found} == {True, False}
    assert 1 < found[-1].page <= 12  # the part that is folded is not printed
    assert orphans(found, "H[1-6]") == []
    rows = header_rows(found)
    assert len(rows) >= 2
    assert [pages for pages in rows if pages[0] != pages[1]] == []
