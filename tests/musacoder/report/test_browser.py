"""The page in a real Chromium: quiet, alone, readable in every window, deaf to what models wrote.

Pictures of it are kept under runs/report-pictures.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import Browser, browser, needed_chromium
from support.report_pages import page_of
from support.report_runs import HOSTILE, write_hostile_run, write_run

PICTURES = Path(__file__).parents[3] / "runs" / "report-pictures"
WINDOWS = {
    "light": {"width": 1280, "scheme": "light"},
    "dark": {"width": 1280, "scheme": "dark"},
    "phone": {"width": 390, "height": 844, "scheme": "light"},
    "phone-dark": {"width": 390, "height": 844, "scheme": "dark"},
}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
EVERYTHING = "document.querySelectorAll('.task[open] details:not([open])').forEach((d) => { d.open = true; })"


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pages")
    write_run(root / "base", tasks=7, samples=4, turns=3, skill=0.3, seed=1)
    write_run(root / "trained", tasks=7, samples=4, turns=3, skill=0.6, seed=2)
    write_hostile_run(root / "hostile")
    texts = {
        "two-runs": page_of([root / "base", root / "trained"]),
        "one-run": page_of([root / "trained"]),
        "without-code": page_of([root / "trained"], code=False),
        "hostile": page_of([root / "base", root / "hostile"]),
    }
    return {name: _written(root / f"{name}.html", text) for name, text in texts.items()}


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as shown:
        yield shown


def opened(shown: Browser, name: str = "") -> None:
    """Open the task of that name, or all, then all that is in it."""
    words = f"[...document.querySelectorAll('.task')].filter((t) => t.textContent.includes({name!r}))"
    shown.evaluate(f"{words}.forEach((t) => {{ t.open = true; }})")
    shown.until(f"{words}.every((t) => t.querySelector('.candidate'))")
    shown.evaluate(EVERYTHING)
    shown.until("[...document.querySelectorAll('.task[open] .candidate')].every((c) => c.querySelector('.turn'))")
    shown.evaluate(EVERYTHING)


def test_without_a_browser_a_machine_skips_and_ci_fails(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("MOORE_CI", "1")
    with pytest.raises(pytest.fail.Exception, match="CI must have Chromium"):
        needed_chromium()
    monkeypatch.delenv("MOORE_CI")
    with pytest.raises(pytest.skip.Exception):
        needed_chromium()


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ["two-runs", "one-run", "without-code", "hostile"])
def test_a_page_is_quiet_asks_for_nothing_and_fits_its_window(chromium, pages, name, window):
    chromium.open(pages[name], **WINDOWS[window])
    assert chromium.evaluate(OVERFLOW) == 0
    chromium.screenshot(PICTURES / f"{name}-{window}.png")
    opened(chromium, "softmax" if name != "hostile" else "<script>")
    assert chromium.evaluate(OVERFLOW) == 0
    chromium.screenshot(PICTURES / f"{name}-{window}-opened.png")
    assert chromium.complaints == []
    assert chromium.requests == [pages[name].as_uri()]


def test_at_phone_width_only_tables_and_code_scroll_sideways(chromium, pages):
    chromium.open(pages["two-runs"], **WINDOWS["phone"])
    opened(chromium, "softmax")
    assert chromium.evaluate(OVERFLOW) == 0
    assert chromium.evaluate(
        "document.querySelector('.scroll').scrollWidth > document.querySelector('.scroll').clientWidth"
    )


HEADLINE = "document.querySelector('.scroll')"


def edge(shown: Browser) -> bytes:
    """The right edge of what the headline's table stands on."""
    shown.evaluate(f"{HEADLINE}.querySelector('table').style.visibility = 'hidden'")
    x, y = shown.evaluate(f"(() => {{ const r = {HEADLINE}.getBoundingClientRect(); return [r.right, r.top]; }})()")
    return shown.picture(x - 12, y + 8, 12, 40)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_table_that_goes_on_is_shaded_at_its_edge_until_its_end_is_seen(chromium, pages, scheme):
    chromium.open(pages["two-runs"], width=390, height=844, scheme=scheme)
    paper, goes_on = chromium.picture(0, 4, 12, 40), edge(chromium)
    chromium.evaluate(f"{HEADLINE}.scrollLeft = {HEADLINE}.scrollWidth")
    assert goes_on != paper
    assert edge(chromium) == paper
    chromium.open(pages["two-runs"], width=1280, scheme=scheme)
    assert edge(chromium) == chromium.picture(0, 4, 12, 40)


def test_hostile_answers_are_text_and_nothing_of_them_runs(chromium, pages):
    chromium.open(pages["hostile"])
    title = chromium.evaluate("document.title")
    opened(chromium)
    assert chromium.evaluate("document.title") == title == "MusaCoder: base and hostile"
    assert (
        chromium.evaluate("document.querySelectorAll('main img, iframe, main a, main script:not(.packed)').length") == 0
    )
    assert chromium.evaluate("getComputedStyle(document.body).display") == "block"
    shown = chromium.evaluate("[...document.querySelectorAll('pre')].map((p) => p.textContent).join('\\n')")
    assert HOSTILE.split("\u202e")[0] in shown  # every character of it, as it was written
    assert chromium.complaints == []


def test_the_policy_stops_what_escaping_would_have_missed(chromium, pages, tmp_path):
    # The same page with the attack put in as markup: the second guard alone must hold.
    broken = pages["one-run"].read_text().replace("<main>", f"<main>{HOSTILE}", 1)
    chromium.open(_written(tmp_path / "broken.html", broken))
    assert chromium.evaluate("document.title") == "MusaCoder: trained"
    assert chromium.complaints  # the browser says what it refused
    assert not [place for place in chromium.requests if place.startswith("http")]


def test_a_task_opens_and_closes_by_the_keyboard_alone(chromium, pages):
    chromium.open(pages["one-run"])
    chromium.evaluate("document.getElementById('filter').focus()")
    chromium.key("Tab", 9)
    assert chromium.evaluate("document.activeElement.matches('.task > summary')")
    chromium.key("Enter", 13, "\r")
    chromium.until("document.querySelector('.task[open] .candidate') !== null")
    assert chromium.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    chromium.key("Enter", 13, "\r")
    chromium.until("document.querySelector('.task[open]') === null")


def test_an_opened_task_shows_code_changes_verdict_and_feedback(chromium, pages):
    chromium.open(pages["two-runs"])
    opened(chromium, "gram")
    titles = set(chromium.evaluate("[...document.querySelectorAll('.fold > summary')].map((s) => s.textContent)"))
    assert {"Code", "Verdict", "Changes from the turn before", "Feedback to the model", "Source of the task"} <= titles
    assert chromium.evaluate("document.querySelectorAll('.diff .added').length") > 0
    assert "x @ x.T" in chromium.evaluate("document.querySelector('.task[open] .code').textContent")


def test_without_code_a_task_opens_to_outcomes_alone(chromium, pages):
    chromium.open(pages["without-code"])
    opened(chromium, "gram")
    assert chromium.evaluate("document.querySelectorAll('.turn').length") > 0
    assert chromium.evaluate("document.querySelectorAll('pre').length") == 0


def test_the_filter_leaves_the_tasks_that_fit(chromium, pages):
    chromium.open(pages["one-run"])
    for words, count in (("relu", 2), ("softmax level2", 1), ("softmax level1", 0), ("nothing", 0), ("", 7)):
        chromium.evaluate(
            f"(() => {{ const f = document.getElementById('filter'); f.value = {words!r};"
            " f.dispatchEvent(new Event('input')); })()"
        )
        assert chromium.evaluate("document.querySelectorAll('.task:not([hidden])').length") == count
        shown = chromium.evaluate("document.getElementById('shown').textContent")
        assert shown == (f"{count} of 7" if words else "")


CONTRAST = """(() => {
  const parsed = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => parsed(c).slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor; if (parsed(c)[3] !== 0) return c; } return 'rgb(255, 255, 255)'; };
  const low = new Set();
  for (const e of document.querySelectorAll('p, h1, h2, h3, th, td, small, a, li, span, label, summary, figcaption')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const a = light(getComputedStyle(e).color), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.add(e.className + ' ' + e.tagName + ' ' + ratio.toFixed(2) + ' ' + e.textContent.slice(0, 30));
  }
  return [...low].slice(0, 12);
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(chromium, pages, scheme):
    chromium.open(pages["two-runs"], scheme=scheme)
    opened(chromium, "gram")
    assert chromium.evaluate(CONTRAST) == []
