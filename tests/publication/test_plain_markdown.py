"""Texts of people in Markdown: whatever they are, they come out as they are and are no markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hybrid.publication.plain_markdown import code, plain

NO_MARKUP = {
    "inline",
    "text",
    "softbreak",
    "bullet_list_open",
    "bullet_list_close",
    "list_item_open",
    "list_item_close",
}
NO_MARKUP |= {"paragraph_open", "paragraph_close", "text_special"}


def kinds(line: str) -> set[str]:
    reader = MarkdownIt("gfm-like", {"linkify": False})
    return {token.type for block in reader.parse(line) for token in [block, *(block.children or ())]}


@given(st.text(alphabet="#+-=*_~`<>[]()|!\\\n\t a1.:&;\x1b\u202e", max_size=40))
def test_a_text_in_a_list_is_no_markup(text: str) -> None:
    line = f"- {plain(text)}"
    assert "\n" not in line and "\x1b" not in line and "\u202e" not in line
    assert kinds(line) <= NO_MARKUP, line


@pytest.mark.parametrize("text", ["11. x", "1) x", "# x", "---", "- x", "+", "> x", "a_b_ _c_", "~~x~~"])
def test_starts_of_lists_and_headings_are_no_markup(text: str) -> None:
    assert kinds(f"- {plain(text)}") <= NO_MARKUP and kinds(plain(text)) <= NO_MARKUP


@pytest.mark.parametrize("text", ["min_leaf", "anonymize.k", "k = 5", "8 of 10 people", "a-b"])
def test_ordinary_words_stay_as_they_are(text: str) -> None:
    assert plain(text) == text


@given(st.text(alphabet="`|<>[] a\\", min_size=1, max_size=12))
def test_code_ends_where_it_ends(text: str) -> None:
    if text.strip() and not text.endswith("\\"):
        assert kinds(f"x {code(text)} y") <= NO_MARKUP | {"code_inline"}
