"""The report in a real browser: drawn, quiet, offline, usable."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from browsers import browser_is_possible

pytestmark = browser_is_possible

OPEN = "document.getElementById('all').open = true;"  # the part that is folded


@pytest.fixture
def page(report, chromium, request, tmp_path) -> Iterator[object]:
    """The report, opened anew; a screenshot is kept when a test fails."""
    failed_before = request.session.testsfailed
    chromium.get_log("performance")  # what the browser's own start page asked for
    chromium.get(report.as_uri())
    yield chromium
    if request.session.testsfailed > failed_before:
        chromium.save_screenshot(str(tmp_path / "failed.png"))


def test_the_page_opens_without_a_message_on_the_console(page) -> None:
    assert "ABYSS-P" in page.title  # the application, and the log
    assert page.get_log("browser") == []


def test_nothing_but_the_file_itself_is_loaded(page, report) -> None:
    sent = [
        json.loads(entry["message"])["message"]["params"]
        for entry in page.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    # The browser's own start page may still load its parts on a busy machine.
    requests = [each["request"]["url"] for each in sent if each["documentURL"] == report.as_uri()]
    assert set(requests) == {report.as_uri()}


PLOTS = """return [...document.querySelectorAll('svg.plot')]
             .filter(svg => svg.checkVisibility())
             .map(svg => [svg, svg.getBoundingClientRect()])
             .map(([svg, box]) => [box.width, box.height, svg.querySelectorAll('path').length,
                                   svg.querySelectorAll('text').length])"""


def test_every_plot_is_drawn_with_marks_and_words_and_most_are_folded(page) -> None:
    unfolded = page.execute_script(PLOTS)
    page.execute_script(OPEN)
    drawn = page.execute_script(PLOTS)
    # two applications: at most five figures each before all numbers
    assert 2 <= len(unfolded) <= 10
    assert len(drawn) > len(unfolded) + 10
    for width, height, n_paths, n_words in drawn:
        assert width > 250
        assert height > 60
        assert n_paths > 2
        assert n_words > 2


def test_tables_have_rows(page) -> None:
    rows = page.execute_script(
        "return [...document.querySelectorAll('table')].map(t => t.tBodies[0].rows.length)"
    )
    assert len(rows) >= 15
    assert min(rows) >= 1


def test_a_file_called_script_is_shown_and_has_not_run(page) -> None:
    cells = page.execute_script(
        "return [...document.querySelectorAll('td')].map(td => td.textContent.trim())"
    )
    assert "<script>alert(1)</script>" in cells
    assert page.execute_script("return document.scripts.length") == 1


def test_time_and_tick_take_turns(page) -> None:
    state = """const group = document.querySelector('.fig.switchable');
               return [...group.querySelectorAll('.variant')].map(v => v.checkVisibility())"""
    assert page.execute_script(state) == [True, False]
    page.execute_script("document.querySelectorAll('.fig.switchable .switch button')[1].click()")
    assert page.execute_script(state) == [False, True]


def test_a_table_is_sorted_by_number_in_both_directions(page) -> None:
    column = """const table = document.querySelector('#app1-ranking-time table');
                const heads = [...table.tHead.rows[0].cells];
                const head = heads.findIndex(th => th.textContent.startsWith('Rate'));
                %s
                return [...table.tBodies[0].rows].map(row => Number(row.cells[head].dataset.v))"""
    click = "table.tHead.rows[0].cells[head].querySelector('button').click();"
    ascending = page.execute_script(column % click)
    assert ascending == sorted(ascending)
    descending = page.execute_script(column % click)
    assert descending == ascending[::-1]


def test_a_filter_keeps_the_rows_with_all_its_words(page) -> None:
    shown = page.execute_script(
        """const box = document.querySelector('#app1-phase-results');
           const input = box.querySelector('input[type=search]');
           input.value = 'nfs 2pxcn';
           input.dispatchEvent(new Event('input'));
           return [...box.querySelectorAll('tbody tr')].filter(tr => !tr.hidden)
                    .map(tr => tr.textContent.toLowerCase())"""
    )
    assert shown
    assert all("nfs" in text and "2pxcn" in text for text in shown)


def test_rows_of_a_long_table_are_made_when_they_are_asked_for(page) -> None:
    states = page.execute_script(
        """const box = document.querySelector('#app2-phase-results');
           const rows = () => box.querySelectorAll('tbody tr').length;
           const found = [rows(), box.querySelector('noscript') !== null];
           document.getElementById('all').open = true;
           box.closest('details').open = true;
           return new Promise((done) => setTimeout(() => {
             found.push(rows());
             box.querySelector('.more-rows button').click();
             found.push(rows());
             const input = box.querySelector('input[type=search]');
             input.value = '2pxcn btio nfs';
             input.dispatchEvent(new Event('input'));
             found.push(rows(), box.querySelector('.filter').textContent);
             const head = [...box.querySelectorAll('th')].findIndex(th => th.textContent.startsWith('Time'));
             box.querySelectorAll('th button')[head].click();
             found.push([...box.querySelectorAll('tbody tr')].map(tr => Number(tr.cells[head].dataset.v)));
             done(found);
           }, 200))"""
    )
    assert states[:4] == [0, True, 50, 250]
    assert states[4:6] == [41, "41 of 400 rows"]
    assert states[6] == sorted(states[6])


def test_the_explorer_filters_orders_and_takes_a_number_apart(page) -> None:
    state = """const section = document.getElementById('app1-explore');
               const set = (at, value) => {
                 const control = section.querySelectorAll('.controls select, .controls input')[at];
                 control.value = value;
                 control.dispatchEvent(new Event('input', {bubbles: true}));
               };
               %s
               return [...section.querySelectorAll('.bars > li')]
                        .map(li => [li.querySelector('button').textContent, li.querySelector('b').textContent,
                                    li.querySelector('.place').textContent])"""
    ranking = page.execute_script(
        """return [...document.querySelectorAll('#app1-ranking-time tbody tr')].map(
             row => [`${row.cells[1].textContent}, ${row.cells[2].textContent}`,
                     row.cells[4].querySelector('b').textContent, row.cells[0].textContent])"""
    )
    assert page.execute_script(state % "") == ranking
    by_rate = page.execute_script(state % "set(0, 'rate'); set(2, '2PxCN');")
    assert len(by_rate) == 5
    assert all(
        ", 2PxCN" in name and "MB/s" in value and place == "" for name, value, place in by_rate
    )
    rates = [float(value.split()[0]) for _, value, _ in by_rate]
    assert rates == sorted(rates, reverse=True)
    behind = """const row = document.querySelector('%s');
                row.querySelector('.apart-button').click();
                const apart = document.querySelector('%s .apart');
                return [...apart.querySelectorAll('table')].map(t => [t.caption.textContent, t.tBodies[0].rows.length])"""
    of_bar = page.execute_script(behind % (("#app1-explore .bars > li",) * 2))
    of_row = page.execute_script(
        behind % ("#app1-ranking-time tbody tr", "#app1-ranking-time tr.below")
    )
    assert of_bar == of_row == [["Repetitions", 3], ["Phases", 6]]


def test_marks_say_what_they_stand_for(page) -> None:
    said = page.execute_script(
        """document.getElementById('all').open = true;
           const mark = [...document.querySelectorAll('svg.plot [data-tip]')]
             .find(each => each.dataset.tip.includes('emulated'));
           const where = {bubbles: true, clientX: 300, clientY: 300};
           mark.dispatchEvent(new PointerEvent('pointermove', where));
           const tip = document.getElementById('tip');
           return [tip.hidden, tip.textContent]"""
    )
    assert said[0] is False
    assert "measured under emulated limits" in said[1]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plots_follow_the_theme(page, theme) -> None:
    page.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": theme}]},
    )
    paper, words = page.execute_script(
        """const text = document.querySelector('svg.plot text');
           const styles = [getComputedStyle(document.body), getComputedStyle(text)];
           return [styles[0].backgroundColor, styles[1].fill]"""
    )
    brightness = [
        sum(float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
        for colour in (paper, words)
    ]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert (brightness[0] > brightness[1]) == (theme == "light")


def test_it_is_complete_without_scripts(report, chromium) -> None:
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chromium.get(report.as_uri())
        document = chromium.execute_cdp_cmd("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
        found = chromium.execute_cdp_cmd(
            "DOM.querySelectorAll", {"nodeId": document, "selector": ".variant:not([hidden])"}
        )
        assert len(found["nodeIds"]) >= 20
    finally:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
