"""`lensbench docs`: the pages that messages name, in a terminal."""

import pytest

from lensbench.core.errors import UserError
from lensbench.core.system.places import ROOT
from lensbench_demo.docs import overview, page


def test_a_page_by_its_name_the_list_of_all_and_an_unknown_page_in_one_line() -> None:
    text = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    assert page("gate") == page("docs/gate.md") == text
    assert page("reference/verbs").startswith("# Verbs")
    assert page("examples").startswith("# Examples")
    names = [line.split()[0] for line in overview().splitlines() if line]
    assert {"gate", "tutorial", "reference/config", "examples"} <= set(names)
    assert f"cp -r {ROOT / 'examples'} ." in overview()
    with pytest.raises(UserError, match="no page 'gat'; did you mean 'gate'"):
        page("gat")
