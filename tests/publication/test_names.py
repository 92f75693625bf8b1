"""One person under many spellings: what an acceptance may be signed with, and who it counts for."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError
from hybrid.publication.approvers import clean_name, clean_text, person_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada Lovelace", "Ada  Lovelace"),
        ("Ada Lovelace", "ada lovelace"),
        ("Ada Lovelace", "Ada Lovelace"),
        ("José", "José"),
        ("José", "Jose"),
        ("Ada Lovelace", "Ada-Lovelace."),
        ("Ada", "Ａｄａ"),
        ("Ada", "𝐀𝐝𝐚"),
        ("Iris", "lris"),
        ("Bob", "B0b"),
        ("Arne", "Ame"),
        ("Сосо", "Coco"),
        ("ΝΙΚΗ", "NIKH"),
        ("ΑΝΝΑ", "ANNA"),
        ("АННА", "AHHA"),
    ],
)
def test_spellings_that_look_alike_are_one_person(one: str, other: str) -> None:
    assert person_of(clean_name(one, "--by")) == person_of(clean_name(other, "--by"))


@pytest.mark.parametrize(("one", "other"), [("Ada", "Bob"), ("Jan Müller", "Jana Müller"), ("山田", "田中")])
def test_different_people_stay_different(one: str, other: str) -> None:
    assert person_of(clean_name(one, "--by")) != person_of(clean_name(other, "--by"))


@pytest.mark.parametrize(
    "name",
    [
        "Аda",  # a Cyrillic first letter
        "Ada\u200b",  # zero width space
        "Ada\u202e",  # writing from right to left
        "Ada\x1b[31m",
        "[bold]Ada[/]",
        "Bob [/x]",
        "A",
        "42",
        "",
        "x" * 101,
        "Adɑ",  # a letter of phonetics
    ],
)
def test_a_name_that_only_looks_like_another_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="--by"):
        clean_name(name, "--by")


@pytest.mark.parametrize("name", ["Ada Lovelace", "José Ñandú", "O'Neil, Dr. Anne-Marie", "Анна Иванова", "山田 太郎"])
def test_names_of_people_are_taken(name: str) -> None:
    assert clean_name(f"  {name} ", "--by") == name


def test_a_reason_without_control_characters() -> None:
    assert clean_text(" rare   rows\tlooked at ", "--reason") == "rare rows looked at"
    with pytest.raises(ConfigError, match=r"U\+202E"):
        clean_text("fine \u202e", "--reason")


@given(st.text(st.characters(categories=["Ll", "Lu", "Zs"]), max_size=20))
def test_form_and_case_never_make_another_person(name: str) -> None:
    for form in ("NFC", "NFD", "NFKC"):
        assert person_of(unicodedata.normalize(form, name)) == person_of(name)
    assert person_of(name.upper().lower()) == person_of(name.lower().upper().lower())
