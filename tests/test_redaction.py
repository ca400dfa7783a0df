from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.system.redaction import Redactor

secrets = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="[]: "), min_size=6
)


@pytest.mark.parametrize(
    ("environment", "text", "shown"),
    [
        ({"KEY": "sk-123456"}, "the key is sk-123456.", "the key is [redacted: KEY]."),
        ({"KEY": "sk-123456"}, "sk-123456sk-123456", "[redacted: KEY][redacted: KEY]"),
        ({"KEY": "short"}, "short", "short"),
        ({"KEY": ""}, "anything", "anything"),
        ({}, "anything", "anything"),
        ({"OTHER": "sk-123456"}, "sk-123456", "sk-123456"),
        ({"A": "sk-123456", "KEY": "sk-123456-long"}, "x sk-123456-long", "x [redacted: KEY]"),
        ({"KEY": 'pa"ss\\wo/rd'}, json.dumps({"out": 'pa"ss\\wo/rd'}), '{"out": "[redacted: KEY]"}'),
        ({"KEY": "pässwörd"}, json.dumps("pässwörd"), '"[redacted: KEY]"'),
        ({"KEY": "https://h/x?k=1"}, r'"https:\/\/h\/x?k=1"', '"[redacted: KEY]"'),
        ({"KEY": "line one\nline two"}, "line two, line one", "[redacted: KEY], [redacted: KEY]"),
        ({"KEY": "line one\nline two"}, json.dumps("line one\nline two"), '"[redacted: KEY]"'),
    ],
)
def test_values_of_named_variables_are_hidden(environment: dict[str, str], text: str, shown: str) -> None:
    assert Redactor(["KEY", "A"], environment)(text) == shown


@given(secrets, st.text(max_size=10), st.text(max_size=10))
def test_no_value_is_left_in_plain_text_or_json(secret: str, before: str, after: str) -> None:
    redact = Redactor(["Z"], {"Z": secret})
    shown = redact(f"{before}{secret}{after}").replace("[redacted: Z]", "")
    assert secret not in shown or secret in before or secret in after or secret in before + after
    for ascii_only in (True, False):
        assert json.loads(redact(json.dumps([secret], ensure_ascii=ascii_only))) == ["[redacted: Z]"]


def test_a_variable_that_is_not_set_hides_nothing() -> None:
    assert Redactor(["NOT_SET"], {})("text") == "text"
