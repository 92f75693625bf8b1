"""The page to decide by in German: no text on it but the catalogue's and the data, and the facts of the English one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hybrid.base.language import NOT_TRANSLATED, catalogue
from hybrid.base.sentence import sentence
from hybrid.evaluation import REGISTRY
from hybrid.evaluation.measure import Evaluation, Measure, MetricResult, NotComputable
from hybrid.jobs.report_inputs import LIMITS, two_pages
from hybrid.publication.first_page import RunFacts, private_page
from hybrid.publication.gate import judge
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.publication.power import LeakTrials, Power
from hybrid.publication.table_facts import TableFacts
from hybrid.publication.verdict import Check, Verdict
from hybrid.report import LossCurve, ReportedStage, ReportInputs, describe, render_report
from hybrid.report.run.inputs import MetricHistory
from hybrid.report.run.sections import DETAILS, FIRST_PAGE, JOINT
from hybrid.report.run.sections.tables import LinkedRow
from tests.helpers.german import not_german
from tests.helpers.marking import ENGLISH, Marking, marked_reports, marking, nodes, unsaid
from tests.publication.conftest import an_anonymization, config

GERMAN = catalogue("de")
DATA = {
    "people",
    "secret-id",
    "Köln",
    "Łódź",
    "北京",
    "São Paulo",
    "age",
    "city",
    "income",
    "born",
    "smoker",
    "loss",
    "True",
    "False",
    "UTC",
}
"""Names and values of the tables of the tests."""


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> Iterator[Marking]:
    with marked_reports(monkeypatch, marking("de")) as language:
        yield language


def evaluation(excess: float, said: float) -> Evaluation:
    """Attacks with this excess over people never seen, and differences of this size."""
    ends = (excess, excess - 0.02, excess + 0.02)
    found = [
        MetricResult(name, "privacy", "synthetic", "lower", Measure(0.1, 0.09, 0.12, 0.1, 500, excess=ends), column)
        for name, column in (("identical_match", None), ("hitting_rate", None), ("linkability", None))
    ]
    found += [
        MetricResult("inference", "privacy", "synthetic", "lower", NotComputable("no secret varies"), "income"),
        MetricResult("membership", "privacy", "synthetic", "lower", Measure(0.5, 0.4, 0.6, 0.5, 500, excess=ends)),
    ]
    where = [{"by": "age", "group": group} for group in ("below 20", "80 and above")]
    words = {
        "lost_column": sentence("content.share", group="city Köln", n=12, m=40, unit="rows"),
        "lost_link": sentence(
            "content.relation.mean",
            column="income",
            one=sentence("content.changed", n="1,200", m="3,400.5", **where[0]),
            other=sentence("content.changed", n=3, m=4, **where[1]),
        ),
        "group_exclusion": sentence("content.share", group="city rare values together", n=0.5, m="12.0", unit="people"),
        "lost_prediction": sentence("content.predicted", column="smoker", n=0.61, m="0.80"),
    }
    for name, text in words.items():
        details: dict[str, Any] = {"said": text, "columns": [], "groups": [], "pairs": []}
        outcome = Measure(said, said - 0.05, said + 0.05, 0.0, 500, details)
        found.append(MetricResult(name, "fidelity", "synthetic", "lower", outcome))
    return Evaluation(tuple(found))


def with_verdict(inputs: ReportInputs, policy: str, excess: float, said: float, tmp: Any) -> ReportInputs:
    power = Power((LeakTrials("copy", 0.01, 20, 20, 20), LeakTrials("near", 0.05, 20, 6, 2)), 700, 2200)
    found, chosen = evaluation(excess, said), load_policy(packaged_policies()[policy])
    facts = {
        "owner": chosen.owner,
        "config": config(tmp) | {"roles": {"decided_by": "A. Muster", "date": "2026-11-21"}},
        "table": TableFacts(1500, 700, 1200, 6, ("name",), ("age", "city"), ("income", "smoker"), 1490),
        "anonymization": an_anonymization(),
        "private": False,
    }
    return replace(
        inputs,
        verdict=judge(
            chosen, found, an_anonymization(), "an earlier release is in the ledger without its classes", 2, power
        ),
        evaluation=found,
        losses=(LossCurve("loss", ((1, 2.5), (2, 1.25))),),
        steps=(
            ReportedStage("input", 2200, 0.1),
            ReportedStage("synthesize", 1200, 3.21, sentence("step.synthetic", n=1200)),
        ),
        collected={"verdict": facts, "rows": {"shown": None}, "protect": None},
    )


@pytest.mark.parametrize(
    ("policy", "excess", "said"),
    [
        ("default", -0.1, 0.0),
        ("default", 0.005, 0.3),
        ("hospital", 0.5, 0.9),
        ("bank", 0.005, 0.9),
        ("statistics_office", 0.5, 0.3),
    ],
)
def test_every_text_is_the_catalogues_or_data(
    full_inputs: ReportInputs, german: Marking, policy: str, excess: float, said: float, tmp_path: Any
) -> None:
    inputs = with_verdict(full_inputs, policy, excess, said, tmp_path)
    page = render_report(inputs, FIRST_PAGE, ("report-details.html", "All checks, figures and the method"), german)
    assert '<html lang="de">' in page and NOT_TRANSLATED not in page
    assert set(unsaid(nodes(page))) <= DATA
    # Words of people and of the data stand inside of sentences as well: none of them is an English one.
    assert not ENGLISH.search(nodes(page))


def numbers(page: str) -> list[str]:
    return re.findall(r"\d[\d.,]*\d|\d", nodes(page))


def test_a_fact_has_the_same_value_on_both_pages(full_inputs: ReportInputs, tmp_path: Any) -> None:
    inputs = with_verdict(full_inputs, "default", 0.005, 0.3, tmp_path)
    english, page = (render_report(inputs, FIRST_PAGE, language=one) for one in (catalogue("en"), GERMAN))
    values = {one.translate({ord(","): ".", ord("."): ","}) for one in numbers(english) if not one.startswith("2026")}
    # Days have another form, and one thing is "eine".
    assert {one for one in values if one not in {"11", "21", "05"}} <= {*numbers(page), *"0123456789"}
    assert "21.11.2026" in page and "2026-11-21" in english


def test_linked_tables_and_no_verdict(full_inputs: ReportInputs, german: Marking) -> None:
    verdict = Verdict.of("default 7", (Check("k-anonymity", "pass", "nothing was anonymized"),))
    rows = [LinkedRow("visits", 12, "patients", "visits.html", verdict), LinkedRow("wards", 3, "", None, None)]
    found = Measure(0.1, reference=0.2)
    linked = MetricResult("orphans", "fidelity", "synthetic", "lower", found, table="visits")
    inputs = replace(full_inputs, verdict=verdict, evaluation=Evaluation((linked,)), collected={"tables": rows})
    for one in (inputs, replace(inputs, verdict=None)):
        page = render_report(one, JOINT, language=german)
        assert set(unsaid(nodes(page))) <= DATA | {"visits", "wards", "patients"}


def test_a_page_without_german_is_english_as_a_whole(full_inputs: ReportInputs) -> None:
    inputs = replace(
        full_inputs, verdict=Verdict.of("own 1", (Check("own rule", "review", "Something new was found."),))
    )
    (_, first), (_, details) = two_pages(inputs, language=GERMAN)
    for page in (first, details):
        assert '<html lang="en">' in page and page.count(NOT_TRANSLATED) == 1
    plain = render_report(inputs, FIRST_PAGE, ("report-details.html", "All checks, figures and the method"))
    assert first.replace(f'<p class="note">{NOT_TRANSLATED}</p>\n', "") == plain


def test_the_details_are_the_catalogues_or_data(full_inputs: ReportInputs, german: Marking, tmp_path: Any) -> None:
    inputs = with_verdict(full_inputs, "default", 0.005, 0.3, tmp_path)
    track = MetricHistory("Identical match", "lower", full_inputs.history[0].nights)
    replaced = replace(
        inputs,
        limits=LIMITS,
        guarantee=sentence("guarantee.measured.none"),
        metric_texts=describe(REGISTRY.values()),
        history=(track,),
    )
    page = render_report(replaced, DETAILS, ("report.html", "The page to decide by"), german)
    assert '<html lang="de">' in page and NOT_TRANSLATED not in page
    assert not_german(re.sub("[⟦⟧]", "", page), DATA | {"hybrid-release", "try uniform"}) == []


def test_what_is_not_german_is_found(full_inputs: ReportInputs) -> None:
    english = not_german(render_report(full_inputs, DETAILS))
    assert len(english) > 50
    said = {"Der Wert ist 0.5.": 1, "am 2026-11-21": 1, "mit 12.5 %": 1, "Rows of people": 1}
    said |= {"0,5 und 1.234 am 21.11.2026, siehe data.person: none und `hybrid run the table`": 0, "Köln of": 1}
    for text, count in said.items():
        assert len(not_german(f"<p>{text}</p>", {"Köln"})) == count, text


def test_private_page_is_said_in_german(tmp_path: Any) -> None:
    private = config(tmp_path) | {"privacy": {"mode": "dp", "epsilon": 2.0, "delta": 1e-5}}
    facts = RunFacts("people", "2026-11-21", "A. Muster", private, TableFacts(100, 0, 90, 3, (), (), ()), private=True)
    page = private_page("default 7", facts)
    for text in (page.answer, *page.table, *page.decided, *page.protection, *page.not_attacked, *page.promise):
        assert GERMAN.say(text) != text
