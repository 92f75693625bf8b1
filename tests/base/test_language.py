"""Every English message has a German one with the same places, and is recognized by it; numbers and days follow."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.language import (
    ENGLISH,
    NOT_TRANSLATED,
    Language,
    Message,
    NoTranslation,
    catalogue,
    in_language,
    language_of,
    languages,
)
from hybrid.base.sentence import (
    PLACE,
    PLURAL,
    SEPARATORS,
    SHAPES,
    packed,
    sentence,
    sentences,
    sentences_in,
    templates,
    unpacked,
    with_sentences,
)
from hybrid.base.words import named
from hybrid.evaluation.planted_leaks import FORMS, LEAKS
from hybrid.pipeline.evaluation_price import EvaluationSeconds
from hybrid.publication.actions import ACTIONS, NOISE
from hybrid.publication.dossier.dossier import headings
from hybrid.publication.policy import load_policy, packaged_policies
from hybrid.publication.private_words import NOT_COVERED, account, decision
from hybrid.publication.unfit import UNFIT
from hybrid.table.cells import _NAMES, in_column
from tests.helpers.prose import PACKAGE, composed, prose

GERMAN = catalogue("de")
SAMPLES = {
    "": "Zq",
    "word": "zq",
    "name": "Zq zq",
    "form": "12",
    "number": "12",
    "date": "2026-01-31",
    "text": "everybody",
    "own": "Zq zq",
    "title": "Zq zq",
    "words": "Zq zq.",
    "items": "zq, zp and zr",
    "names": "zq, zp and zr",
    "label": "zq",
}
WORDS = [one.english for one in (*GERMAN.messages, *GERMAN.labels) if not one.kinds and one.english.count(" ") < 3]
"""Texts of the catalogue that a value or a column can read like."""
SAID = SAMPLES | {
    "date": "31.01.2026",
    "text": GERMAN.say("everybody"),
    "items": "zq, zp und zr",
    "names": "zq, zp und zr",
}
PAGES = (
    *("publication/first_page.py", "publication/lamps.py", "publication/criteria.py"),
    *("publication/private_words.py", "publication/column_roles.py"),
    *("publication/description/readme.py", "publication/description/statement.py", "publication/dossier/facts.py"),
    *("publication/power.py", "pipeline/stages.py", "publication/pending_membership.py"),
    *("hierarchy/labels.py", "pipeline/column_findings.py", "synthesize/estimate.py", "constraints/constraint.py"),
    *("constraints/kinds/combinations.py", "constraints/kinds/order.py"),
    *(f"pipeline/starter/{name}.py" for name in ("guess_config", "guessed_roles", "linked", "write", "columns")),
    *("pipeline/starter/config_text.py", "pipeline/starter/value_patterns.py"),
    *("pipeline/level_findings.py", "pipeline/level_costs.py"),
    *("pipeline/sampled_labels.py", "pipeline/privacy_statements.py", "pipeline/private_mode.py"),
)
"""Modules whose every sentence can come onto a page that has a German version."""
COMPOSED = 38
"""Pieces of prose that modules still put together, without errors and hints: fewer with each family, never more."""
PATTERNS = 252
"""Messages with places that are still recognized in texts: fewer with each family of templates, never more."""
INTERNAL = {
    "kept by the operator: they are computed from real records without noise",
    "measured, excess, limit",
    *("sample: {method: beta, beta", "synthesize: {generator: cart, rows: same"),
}
"""Entries of files for programs."""


def places(template: str) -> set[str]:
    return {name for name, _ in PLACE.findall(template)} | {name for name, _, _ in PLURAL.findall(template)}


def filled(message: Message, form: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)(?::(\w+))?\}", lambda at: form[message.kinds[at.group(1)]], message.english)


def test_both_sides_of_a_message_have_the_same_places() -> None:
    for one in GERMAN.messages:
        assert set(one.kinds) == one.translated_places, one.english
        assert set(one.kinds.values()) <= set(SAMPLES), one.english
    twice = [text for text, count in Counter(one.english for one in GERMAN.messages).items() if count > 1]
    assert not twice


def test_every_message_is_recognized_and_keeps_its_values() -> None:
    for one in GERMAN.messages:
        said = GERMAN.say(filled(one, SAMPLES))
        for kind in one.kinds.values():
            assert SAID[kind] in said, (one.english, said)
        if not one.kinds:
            assert said == one.translation


def test_no_message_takes_any_text_for_its_own() -> None:
    for one in GERMAN.messages:
        known = {"number", "date", "text", "form"} & set(one.kinds.values())
        assert known or len(re.sub(r"\W", "", "".join(one.literals))) >= 2, one.english


def test_no_pattern_is_added() -> None:
    """What is new is a template that is stated with its facts (`sentence`, or `_(...)` in a page)."""
    assert sum(bool(one.kinds) for one in GERMAN.messages) == PATTERNS


def test_every_language_has_the_same_templates_with_the_same_places() -> None:
    english, german = templates("en"), templates("de")
    assert list(english) == list(german)
    for name, template in english.items():
        assert places(template) == places(german[name]), name
        kinds = {kind for one in (template, german[name]) for _, kind in PLACE.findall(one)}
        assert kinds <= {*SAMPLES, *SHAPES, *SEPARATORS}, name


def test_every_template_is_used_with_the_facts_that_it_has_places_for() -> None:
    english = templates("en")
    used: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used |= {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and one.value in english}
        for call in (one for one in ast.walk(tree) if isinstance(one, ast.Call)):
            if getattr(call.func, "id", "") == "sentence" and all(one.arg for one in call.keywords):
                names = [one.value for one in ast.walk(call.args[0]) if isinstance(one, ast.Constant)]
                for name in (one for one in names if one in english):
                    assert places(english[name]) == {one.arg for one in call.keywords}, name
    assert used == set(english)


def test_a_sentence_is_english_text_and_is_said_by_the_template_of_a_language() -> None:
    found = sentence("score.between", n=0.12344, low=0.1, high=1234.5)
    said = sentence("about", place="visits", found=sentence("allowed.most", found=found, limit=0.05))
    text = "About visits: The score is 0.1234 (between 0.1 and 1,234); allowed is at most 0.05."
    assert said == text and ENGLISH.say(said) == text and json.loads(json.dumps({"a": said})) == {"a": text}
    german = "Zu visits: Der Wert ist 0,1234 (zwischen 0,1 und 1.234); erlaubt ist höchstens 0,05."
    assert GERMAN.say(said) == german
    with pytest.raises(NoTranslation):
        GERMAN.say(text)
    kept = json.loads(json.dumps(sentences_in({"checks": [said]})))
    assert kept[found]["facts"] == {"n": 0.1234, "low": 0.1, "high": 1234.0}
    again = with_sentences(json.loads(json.dumps({"checks": [said], "name": "visits"})), kept)
    assert GERMAN.say(again["checks"][0]) == german and again["name"] == "visits"


def test_a_sentence_is_kept_where_only_text_is() -> None:
    said = sentence("event.run", run="r", by="Ada", reason="It is too small.")
    again = unpacked(packed(said))
    assert again == said and GERMAN.say(again) == "r von Ada: It is too small."
    assert packed("as it is") == unpacked("as it is") == "as it is"
    stale = with_sentences(str(said), {str(said): {"template": "event.run", "facts": {"run": "r"}}})
    with pytest.raises(NoTranslation):
        GERMAN.say(stale)


def test_a_sentence_in_a_sentence_is_joined_as_the_language_does() -> None:
    one, two = sentence("leak.none"), sentence("leak.unjudged")
    assert sentences(one, "", two) == f"{one} {two}" and sentences() == ""
    about = sentence("leak.about", who="everybody", found=one)
    assert about == "Everybody: no leak was found." and GERMAN.say(about) == f"Alle Personen: {GERMAN.say(one)}"
    assert sentence("passed", n=1) == "1 check passes" and GERMAN.say(sentence("passed", n=1)).startswith("Eine Prüf")
    listed = sentence("unfit.unknown", rules=("exact copies", "own rule", "my rule"))
    assert listed.endswith(": exact copies, own rule and my rule.")
    assert GERMAN.say(listed).endswith(": genaue Kopien, own rule und my rule.")
    unknown = sentence("missing", reason="a reason that nobody has translated")
    with pytest.raises(NoTranslation):
        GERMAN.say(unknown)


def test_no_sentence_is_put_together_that_could_be_a_template() -> None:
    """Where the number fell, write it down; where it rose, state the sentence as facts (developing/languages.md)."""
    found = {str(path.relative_to(PACKAGE)): list(composed(path)) for path in sorted(PACKAGE.rglob("*.py"))}
    assert sum(map(len, found.values())) == COMPOSED, {path: pieces for path, pieces in found.items() if pieces}


@pytest.mark.parametrize("path", PAGES)
def test_every_sentence_of_a_page_has_a_german_one(path: str) -> None:
    known = "\n".join(one.english for one in GERMAN.messages)
    for piece in prose(path):
        parts = [part.strip(" .;:,()") for part in re.split(r"(?<=[.:!?]) |; ", piece)]
        missing = [part for part in parts if len(part.split()) > 1 and part not in known and piece not in INTERNAL]
        assert not missing, missing


def test_packaged_policies_and_headings_are_known() -> None:
    policies = [load_policy(path) for path in packaged_policies().values()]
    rules = [rule for policy in policies for _, rule in policy.by_kind()]
    texts = [text for rule in rules for text in (rule.name, rule.reason, rule.hint)]
    texts += [policy.owner for policy in policies] + [
        small.reason for policy in policies for small in policy.small_tables
    ]
    parts = headings()["parts"]
    texts += [headings()["note"], *(part[key].strip() for part in parts for key in ("title", "about"))]
    texts += [item[key] for part in parts for item in part["items"] for key in ("heading", "person")]
    texts += [*UNFIT.values(), *LEAKS, *(leak.in_words(0.01) for leak in LEAKS.values())]
    texts += [*ACTIONS, *NOISE]
    texts += [words for words in FORMS.values() if "{" not in words]
    for text in filter(None, texts):
        assert GERMAN.say(text) != text or text in ("copy",), text


@given(st.floats(-1e9, 1e9, allow_nan=False), st.integers(0, 4))
def test_numbers_have_the_marks_of_the_language(value: float, digits: int) -> None:
    english = f"{value:,.{digits}f}"
    german = GERMAN.number(f"about {english} %")
    marks = {ord(","): ".", ord("."): ","}
    assert german == f"about {english.translate(marks)} %"


def test_names_versions_and_addresses_are_no_numbers() -> None:
    text = "v1.5, 1.2.3, a1.5b, column_1.5, 2026-02-30"
    assert GERMAN.number(text) == text
    assert GERMAN.number("2026-02-03 and 1,234.5 (0.5)") == "03.02.2026 and 1.234,5 (0,5)"


def test_rules_that_the_source_breaks_are_said_one_by_one() -> None:
    twice = ("a and b are missing together", "c and d are missing together")
    said = GERMAN.say(sentence("check.rules.none", rules=twice))
    assert said.endswith(": a und b fehlen gemeinsam; c und d fehlen gemeinsam")
    back = "one exact value for each group"
    said = GERMAN.say(sentence("level.protected.counted", column="time", n=731, after=2, how="by 6 hours", back=back))
    assert said == "time: 731 Werte, 2 solange geschützt: nach 6 Stunden; danach ein genauer Wert für jede Gruppe"
    states = tuple(sentence("check.training.states", column=repr(name), n=n) for name, n in {"a": 1000, "b": 3}.items())
    widest = GERMAN.say(sentence("check.training.memory", generator="most", gb="3.2", widest=states))
    assert widest.endswith("am breitesten: 'a' (1.000 Zustände) und 'b' (3 Zustände)")


def test_the_parts_of_a_forecast_are_said_one_by_one() -> None:
    words = EvaluationSeconds(120.0, 46.0, 300.0).words
    assert words == ("2 min for metrics", "46 s for planted leaks", "at most 5 min to repeat the whole process")
    assert EvaluationSeconds(3.0, 0.0, 0.0).words == ("3 s for metrics",)
    said = GERMAN.say(sentence("check.measuring", time="8 min", parts=words, n=2))
    parts = "2 min für Metriken, 46 s für Test-Preisgaben, höchstens 5 min, um das ganze Verfahren zu wiederholen"
    assert said == f"die Messung braucht etwa 8 min eines Kerns ({parts}); hier teilen sich 2 Kerne die Arbeit"


def test_one_and_many_are_told_apart() -> None:
    found = {one: sentence("tables.size", table="a", rows=one, columns=3) for one in (1, 2, "about 1,230")}
    assert "1 Zeile und" in GERMAN.say(found[1]) and "1 row and" in found[1]
    assert "2 Zeilen und" in GERMAN.say(found[2])
    assert "etwa 1.230 Zeilen" in GERMAN.say(found["about 1,230"])


def test_names_with_and_in_them_stay() -> None:
    said = GERMAN.say(sentence("named.left_out", names=("given name", "street", "town")))
    assert said.endswith(": given name, street und town.")
    said = GERMAN.say(sentence("tables.size", table="Ärzte und Pflege", rows=3, columns=2))
    assert said.startswith("Ärzte und Pflege hat 3")


def test_own_words_stay_and_what_is_known_beside_them_is_said() -> None:
    found = sentence("allowed.most", found=sentence("score", n=0.5), limit=0.1)
    said = GERMAN.say(sentence("because", found=found, reason="Der Beirat will es so."))
    assert said == "Der Wert ist 0,5; erlaubt ist höchstens 0,1. Der Beirat will es so."


def test_a_page_with_an_unknown_sentence_is_english_and_says_so() -> None:
    def draw(language: Language, note: str) -> str:
        return f"{note}|{language.say('Nothing.')} {language.say('A sentence nobody has translated.')}"

    assert in_language(ENGLISH, draw).startswith("|")
    page = in_language(GERMAN, draw)
    assert page == f"{NOT_TRANSLATED}|Nothing. A sentence nobody has translated."
    with pytest.raises(NoTranslation):
        GERMAN.say("A sentence nobody has translated.")


def test_the_language_is_that_of_the_configuration_else_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYBRID_LANGUAGE", raising=False)
    assert languages() == ("en", "de")
    assert [language_of(tag).code for tag in ("de-AT", "de", "en-GB", "fr", None)] == ["de", "de", "en", "en", "en"]
    monkeypatch.setenv("HYBRID_LANGUAGE", "de_DE.UTF-8")
    assert language_of(None).code == "de" and language_of("en").code == "en"


def test_data_holds_no_sentence_that_the_catalogue_knows() -> None:
    said = GERMAN.say(decision("A. Muster", "house 1"))
    assert said.endswith("Richtlinie house 1. " + GERMAN.say(NOT_COVERED)) and "decision" not in said
    shares = {"number of rows": 0.1, "intervals of age": 0.2, "categories of ward": 0.3}
    parts = [{"name": name, "rho": rho, "delta": 0.0} for name, rho in shares.items()]
    found = GERMAN.say(account({"parts": parts, "rho": 0.6, "spent_delta": 1e-6, "epsilon": 2.0}))
    assert "Zahl der Zeilen 0,1, Intervalle von age 0,2, Kategorien von ward 0,3; zusammen 0,6" in found
    accepted = sentence("accepted.proof", who="A. Muster", proof="not proven: the name as it was given")
    assert GERMAN.say(accepted) == "A. Muster (nicht nachgewiesen: Name wie angegeben)"


def test_a_value_and_a_column_that_read_like_the_catalogue_stay() -> None:
    """They stay as they are, or the page with them is English as a whole; one word is never in the way."""
    for word in WORDS:
        shown = in_column("ward", f"'{word}'" if _NAMES.fullmatch(word) else word)
        assert GERMAN.label(shown) == shown
        for text, begin, end in (
            (
                sentence("content.share", group=shown, n="3.0", m="4.5", unit="rows"),
                shown,
                ": 3,0 % der Zeilen statt 4,5 %",
            ),
            (f"{named(['ward', word])} are missing together", f"ward und {named([word])}", " fehlen gemeinsam"),
        ):
            try:
                said = GERMAN.say(text)
            except NoTranslation:
                assert not word.isalnum()
            else:
                assert said.startswith(begin) and said.endswith(end), said


def test_what_the_program_calls_groups_is_said_and_is_known_where_they_are_named() -> None:
    for one in GERMAN.labels:
        name = filled(one, SAMPLES)
        assert GERMAN.label(name) != name and _NAMES.fullmatch(name)
        in_a_column = f"my age {name}" if name.startswith("(") else f"my age {GERMAN.label(name)}"
        assert GERMAN.label(f"my age {name}") == in_a_column
    assert in_column("x below", "5") == "x below '5'" and GERMAN.label("x below '5'") == "x below '5'"


def test_a_group_with_a_name_of_the_program_is_said_within_a_sentence() -> None:
    where = [{"by": "stay", "group": group} for group in ("8 and above", "below 3")]
    said = GERMAN.say(
        sentence(
            "content.relation",
            column="nation",
            value="rare values together",
            one=sentence("content.changed.percent", n="15.4", m="14.7", **where[0]),
            other=sentence("content.still.percent", n="23.8", **where[1]),
        )
    )
    rest = "15,4 % statt 14,7 %, wo stay 8 und mehr ist, und weiterhin 23,8 %, wo stay unter 3 ist"
    assert said == f"nation = seltene Werte zusammen: {rest}"
