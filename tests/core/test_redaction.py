import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.system.redaction import Redactor, literal_secrets

secrets = st.text(
    st.characters(
        codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="[]: "
    ),
    min_size=6,
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
        (
            {"KEY": 'pa"ss\\wo/rd'},
            json.dumps({"out": 'pa"ss\\wo/rd'}),
            '{"out": "[redacted: KEY]"}',
        ),
        ({"KEY": "pässwörd"}, json.dumps("pässwörd"), '"[redacted: KEY]"'),
        ({"KEY": 'pä"sswörd'}, r'{"out": "pä\"sswörd', '{"out": "[redacted: KEY]'),
        ({"KEY": "sk-123456"}, r'"\u0073k-123456"', '"[redacted: KEY]"'),
        ({"KEY": "sk-123456"}, r'["\u0073k-123456"]', '["[redacted: KEY]"]'),
        ({"KEY": "https://h/x?k=1"}, r'"https:\/\/h\/x?k=1"', '"[redacted: KEY]"'),
        ({"KEY": "s3cr3t-8"}, "a s3cr\n3t-8 b", "a [redacted: KEY] b"),
        ({"KEY": "line one\nline two"}, "line two, line one", "[redacted: KEY], [redacted: KEY]"),
        ({"KEY": "sixsix\nfifth"}, "sixsix, fifth", "[redacted: KEY], fifth"),
        ({"KEY": "line one\nline two"}, json.dumps("line one\nline two"), '"[redacted: KEY]"'),
    ],
)
def test_values_of_named_variables_are_hidden(
    environment: dict[str, str], text: str, shown: str
) -> None:
    assert Redactor(["KEY", "A"], environment)(text) == shown


@given(secrets, st.text(max_size=10), st.text(max_size=10))
def test_no_value_is_left_in_plain_text_or_json(secret: str, before: str, after: str) -> None:
    redact = Redactor(["Z"], {"Z": secret})
    shown = redact(f"{before}{secret}{after}").replace("[redacted: Z]", "")
    assert secret not in shown or secret in before or secret in after or secret in before + after
    for ascii_only in (True, False):
        assert json.loads(redact(json.dumps([secret], ensure_ascii=ascii_only))) == [
            "[redacted: Z]"
        ]


KEY = "sk-ant-0123456789/abc+XYZ~~~???"
"""Its base64 has both characters in which the two alphabets differ, at every offset."""


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("after", ["", "x", "xy", "\n"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_hidden_at_every_offset_of_the_value(
    before: str, after: str, encode: Any
) -> None:
    assert {*"+/"} <= {*base64.b64encode(f"{before}{KEY}{after}".encode()).decode()}
    shown = Redactor(["KEY"], {"KEY": KEY})(encode(f"{before}{KEY}{after}".encode()).decode())
    assert "[redacted: KEY]" in shown
    assert len(shown.replace("[redacted: KEY]", "")) <= 4 + 4 * len(before + after)


@pytest.mark.parametrize(
    "coded",
    [
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        quote(KEY, safe=""),
        quote(KEY, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3F", "%3f"),
        "".join(f"%{byte:02x}" for byte in KEY.encode()),
        f"{KEY[:9]}\n{KEY[9:]}",
        f"{KEY[:9]}\\n   {KEY[9:]}",
        base64.encodebytes(KEY.encode() * 4).decode(),
        json.dumps(f"{KEY[:5]}\n{KEY[5:]}"),
    ],
)
def test_coded_and_broken_values_are_hidden(coded: str) -> None:
    shown = Redactor(["KEY"], {"KEY": KEY})(f"a {coded} b")
    assert "[redacted: KEY]" in shown
    assert coded not in shown
    assert KEY[9:] not in shown


def test_values_spelt_with_escapes_and_in_plain_data_are_hidden_with_keys() -> None:
    spelt = "".join(f"\\u{ord(character):04x}" for character in KEY)
    redact = Redactor(["KEY"], {"KEY": KEY})
    line = f'{{"a": ["x {spelt}"], "{spelt}": 1}}\n'
    assert json.loads(redact(line)) == {"a": ["x [redacted: KEY]"], "[redacted: KEY]": 1}
    nested = json.dumps({"result": f'{{"env": "{spelt}"}}'}) + "\n"
    assert json.loads(json.loads(redact(nested))["result"]) == {"env": "[redacted: KEY]"}
    harmless = '{"a": "\\u0041"}\n'
    assert redact(harmless) == harmless
    assert Redactor(["KEY"], {"KEY": KEY}).all({f"t_{KEY}": [1, KEY, None]}) == {
        "t_[redacted: KEY]": [1, "[redacted: KEY]", None]
    }


def test_literal_values_of_mcp_files_are_secrets_and_settings_are_not() -> None:
    env = {
        "API_KEY": "plainword",
        "X": "tok-9f8e7d6c5b",
        "MODE": "production",
        "ROOT": "/srv/x",
        "LEVEL": "3000000",
        "FROM": "${LENS_TOKEN}",
        "URL": "https://a.example/x",
    }
    servers = {
        "lens": {"command": "x", "env": env},
        "other": {"url": "u", "headers": {"Authorization": "Bearer abc-123456"}},
    }
    assert literal_secrets(servers) == {
        "lens.API_KEY": "plainword",
        "lens.X": "tok-9f8e7d6c5b",
        "other.Authorization": "abc-123456",
    }
    redact = Redactor([], {}, literal_secrets(servers))
    assert redact("it is tok-9f8e7d6c5b") == "it is [redacted: lens.X]"
