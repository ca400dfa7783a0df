"""Sentences that misled readers: none stands on the page, in results.md or on the terminal, nor in templates and docs."""

import re

import pytest

from benches import Shape, make_bench
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed
from lensbench.core.system.places import ROOT, TEMPLATES
from lensbench.results.page.page import read_inputs, render
from lensbench.results.results_file import Results
from lensbench.workflow.finish import lines

GONE = {
    "a condition is no subject": r"\b[Ww]ith(out)? (helps|does not help|makes|saves|costs|\d+(\.\d+)?%(?! probability| of ))",
    "three statuses": r"INCONCLUSIVE: no verdict|it is no verdict|NO VERDICT",
    "an interval is no proof of chance": r"not chance",
    "power": r"would be found with|a true [\d.]+ ?%|such benchmarks find a true|If tasks spread as these do",
    "as long as what": r"took as long[.;]",
    "no verb": r"up to \d+ ?% of tasks may\b(?! \w)",
    "unlabelled counts": r"\((?!pairs:|tasks:)\d+ better, \d+ equal",
    "points": r"\bpp\b|\d ?pp\b",
    "not shown 19": r"no call went to another condition.s server[^|]*not shown \d",
    "rounded away": r"the delta is (\S+) points?, not \1 ",
    "no model differs from none": r"differs from the requested one \(none",
    "an exact loss": r"\d+ of \d+ tasks lost \d+ points",
    "what makes what": r"makes what is missing: ",
}
"""Why -> what must not stand anywhere."""
SHAPES = {
    "offline": Shape(12, agent="offline", judges=("mechanical",)),
    "helps": Shape(60, repositories=20, lift=0.5, judges=("mechanical",)),
    "unclear": Shape(6, lift=0.0, discarded=0.1, missing=0.1, treatments=("graph", "other")),
}


def text_of(page: str) -> str:
    """The text that people read of a page."""
    return " ".join(re.sub(r"(?s)<(style|script).*?</\1>|<[^>]+>", " ", page).split())


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    texts = {}
    for name, shape in SHAPES.items():
        folder = make_bench(tmp_path_factory.mktemp(name) / "bench", shape)
        page = dict(render(folder, read_inputs(folder)))["report.html"]
        terminal = "\n".join(
            lines(folder, read_typed(RunFolder(folder).results_json, Results[float]))
        )
        texts[name] = "\n".join((text_of(page), (folder / "results.md").read_text(), terminal))
    return texts


@pytest.mark.parametrize("why", GONE)
def test_no_sentence_that_misleads_is_left(said: dict[str, str], why: str) -> None:
    for name, text in said.items():
        assert not (found := re.search(GONE[why], text)), f"{name}: {found and found[0]}"
    for file in (*TEMPLATES.glob("*.j2"), *ROOT.glob("docs/*.md"), ROOT / "README.md"):
        assert not (found := re.search(GONE[why], file.read_text(encoding="utf-8"))), (
            f"{file}: {found and found[0]}"
        )
