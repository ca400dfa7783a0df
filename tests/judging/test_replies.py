"""Forms in which models reply: each is read, or lost, whatever its verdict is."""

import random
from collections import Counter
from pathlib import Path

import pytest
import yaml

from lensbench.judging.judges import Judgement, Verdict
from lensbench.judging.judges.model import read_reply

NONCE = "0123456789abcdef"
ANSWER = "I looked around. The class Cart holds the items of the customer, as it seems.\n"
FACT = "States that the class Cart reads the limit of one basket, as documented."
EVIDENCE = {
    Verdict.MET: "The class Cart holds the items of the customer",
    Verdict.PARTIAL: "The class Cart holds the items of the customer",
    Verdict.MISSED: "the class Cart reads the limit of one basket",
}
FORMS = yaml.safe_load((Path(__file__).parent / "replies.yaml").read_text())
READ = [form for form in FORMS if form["reading"] == "read"]
DAMAGES = 60


def reply(form: dict[str, str], verdict: Verdict) -> str:
    evidence = EVIDENCE[verdict]
    words = evidence.split()
    first, middle, last = (" ".join(part) for part in (words[:3], words[3:-3], words[-3:]))
    values = {
        "NONCE": NONCE,
        "VERDICT": verdict.value,
        "LOWER": verdict.value.lower(),
        "UPPER": verdict.value.upper(),
        "EVIDENCE": evidence,
        "SHOUTED": evidence.upper(),
        "FIRST": first,
        "MIDDLE": middle,
        "LAST": last,
        "NAME": "Cart",
        "WORD": "class",
        "TWO": "the class",
    }
    text = form["reply"]
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def read(text: str) -> Judgement:
    return read_reply(text, NONCE, ANSWER, FACT)


def test_there_are_enough_forms_and_no_two_are_alike() -> None:
    assert (
        len({form["form"] for form in FORMS})
        == len({form["reply"] for form in FORMS})
        == len(FORMS)
        >= 60
    )


@pytest.mark.parametrize("verdict", EVIDENCE)
@pytest.mark.parametrize("form", FORMS, ids=[form["form"] for form in FORMS])
def test_a_form_is_read_or_lost_as_expected(form: dict[str, str], verdict: Verdict) -> None:
    found = read(reply(form, verdict))
    assert (found.failure or "read") == form["reading"]
    assert found.verdict is (Verdict.UNJUDGED if found.failure else verdict)


def damaged(text: str, rng: random.Random) -> str:
    """The text as a careless writer or a bad line would leave it."""
    start = rng.randrange(len(text))
    end = min(len(text), start + rng.randint(1, 12))
    words = text.split(" ")
    word = rng.randrange(len(words))
    return rng.choice(
        [
            text[:start] + text[start + 1 :],
            text[:start] + rng.choice("xq.,'\"{}\\\n") + text[start:],
            text[:start] + rng.choice("xq.,'\"{}\\\n") + text[start + 1 :],
            text[:start] + text[end:],
            text[:start] + text[start:end].swapcase() + text[end:],
            " ".join([*words[:word], *words[word + 1 :]]),
            " ".join([*words[:word], "rather", *words[word:]]),
            text[: len(text) - rng.randint(0, 20)],
        ]
    )


def test_damage_loses_every_verdict_alike_and_makes_none_of_another() -> None:
    lost: Counter[Verdict] = Counter()
    for number, form in enumerate(READ):
        for verdict in EVIDENCE:
            rng = random.Random(number)
            for _ in range(DAMAGES):
                found = read(damaged(reply(form, verdict), rng)).verdict
                assert found in (verdict, Verdict.UNJUDGED)
                lost[verdict] += found is Verdict.UNJUDGED
    shares = {verdict: lost[verdict] / (DAMAGES * len(READ)) for verdict in EVIDENCE}
    print(
        f"{DAMAGES * len(READ)} damaged replies each, lost:",
        {key.value: f"{shares[key]:.1%}" for key in shares},
    )
    assert max(shares.values()) - min(shares.values()) < 0.03
    assert min(shares.values()) > 0.2


def test_a_fact_of_two_words_can_be_missed_in_any_language_with_what_contradicts_it() -> None:
    text = f'{{"id": "{NONCE}", "verdict": "Missed", "evidence": "Says nothing", "reason": ""}}'
    assert read_reply(text, NONCE, ANSWER, "Says nothing").verdict is Verdict.MISSED
    text = f'{{"id": "{NONCE}", "verdict": "Met", "evidence": "\u8cfc\u7269\u8eca\u5728", "reason": ""}}'
    answer = "\u8cfc\u7269\u8eca\u5728 shop.py \u88e1"
    assert (
        read_reply(text, NONCE, answer, "\u8cfc\u7269\u8eca\u7684\u4f4d\u7f6e").verdict
        is Verdict.MET
    )
    text = f'{{"id": "{NONCE}", "verdict": "Missed", "evidence": "holds the items", "reason": ""}}'
    assert read(text) == Judgement(Verdict.MISSED, "", None, "")
