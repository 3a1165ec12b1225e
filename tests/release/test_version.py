"""The version and the facts about the package say the same wherever they stand."""

import re
import tomllib

from house.source_tree import ROOT
from trace_budget._version import VERSION

CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RELEASE = (ROOT / ".ci" / "release").read_text(encoding="utf-8")


def told(key: str) -> str:
    found = re.search(rf"^{key}: \"?([^\"\n]+)\"?$", CITATION, re.MULTILINE)
    assert found is not None, key
    return found[1]


def test_the_citation_is_of_this_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    assert told("version") == VERSION
    assert told("license") == PROJECT["license"]
    assert told("cff-version") == "1.2.0"
    assert told("title").startswith(PROJECT["name"])


def test_every_extra_for_users_is_proven_before_a_release() -> None:
    proven = re.search(r"^EXTRAS=\((.*)\)$", RELEASE, re.MULTILINE)
    assert proven is not None
    bringing = {extra for extra, requirements in PROJECT["optional-dependencies"].items() if requirements}
    assert set(proven[1].split()) == bringing - {"test", "docs"}
    smoke = (ROOT / "tests" / "release" / "smoke.py").read_text(encoding="utf-8")
    assert all(f'"{extra}": ' in smoke for extra in proven[1].split())


def test_every_python_that_is_promised_is_proven() -> None:
    promised = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    assert promised[0] == PROJECT["requires-python"].removeprefix(">=")
    assert f"for version in {' '.join(promised)};" in RELEASE
