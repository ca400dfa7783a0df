"""How a prompt is read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lensbench_tasks.question import question_text, read_question, stem


@pytest.mark.parametrize(
    "form", ["---\nzebra", "## Report\nzebra", "Your answer must end with a zebra.", "* * *\nzebra"]
)
def test_the_question_ends_where_the_form_of_the_answer_begins(form: str) -> None:
    assert (
        question_text(f"How does the parser work?\n\nIn detail.\n\n{form}\n")
        .strip()
        .endswith("In detail.")
    )


def test_forms_of_a_word_agree_what_is_spelled_out_weighs_more_and_form_alone_is_taken_whole() -> (
    None
):
    assert "zebra" in question_text("## Zebra\nWhat is a zebra?")
    assert len({stem(word) for word in ("parsing", "parses", "parse")}) == 1
    assert (stem("lexing"), stem("string"), stem("class")) == ("lex", "string", "class")
    question = read_question("Why does `Cart.checkout` raise EmptyCartError for a customer?")
    assert (question.terms[0].text, question.names) == (
        "Cart.checkout",
        ("EmptyCartError", "checkout", "Cart"),
    )
    assert not question.impact
    assert read_question("What breaks when `Cart` is renamed?").impact
    numbers = read_question("Why does v2 of the docs say 1.5 s for 30 carts?")
    assert [term.text for term in numbers.terms if term.text[0].isdigit()] == ["1.5", "30"]


@settings(max_examples=80)
@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    assert read_question(text) == read_question(text)
