"""Every caveat code of the source, and the words of the answers, have their two sentences."""

import ast
import re
from collections.abc import Iterator

from house.source_tree import modules, name_of, tree
from trace_budget.projection.evidence import QUESTIONS
from trace_budget.schema.glossary import CAVEAT, TERM, entries, looked_up
from trace_budget.schema.quantities import PHASES, VERDICTS

CODE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+")


def codes_of(module: ast.Module) -> Iterator[str]:
    """Codes that a module gives to caveats: as they stand, by a constant, or from rows of code and text."""
    assigned = [node for node in module.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)]
    constants = {target.id: node.value for node in assigned for target in node.targets if isinstance(target, ast.Name)}
    from_rows = False
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
        if getattr(call.func, "id", "") != "Caveat" or not call.args:
            continue
        code = constants.get(call.args[0].id, call.args[0]) if isinstance(call.args[0], ast.Name) else call.args[0]
        if isinstance(code, ast.Constant):
            yield str(code.value)
        from_rows = from_rows or isinstance(code, ast.Name)
    for row in (node for node in ast.walk(module) if isinstance(node, ast.Tuple) and from_rows):
        texts = [each.value for each in row.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        said = any(" " in text for text in texts) or any(
            isinstance(each, ast.Name | ast.JoinedStr) for each in row.elts
        )
        yield from (text for text in texts if said and CODE.fullmatch(text) and text not in _columns(row))


def _columns(row: ast.Tuple) -> set[str]:
    """Column names are strings in calls, not elements of the row itself."""
    return {
        str(n.value)
        for call in ast.walk(row)
        if isinstance(call, ast.Call)
        for n in call.args
        if isinstance(n, ast.Constant)
    }


def test_every_caveat_code_is_explained() -> None:
    explained = {entry.word for entry in entries() if entry.kind == CAVEAT}
    missing = {code: name_of(path) for path in modules() for code in codes_of(tree(path)) if code not in explained}
    assert missing == {}, "give each two sentences in src/trace_budget/schema/glossary.toml"


def test_no_code_is_explained_that_nobody_gives() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in modules())
    assert [each.word for each in entries() if each.kind == CAVEAT and f'"{each.word}"' not in source] == []


def test_the_words_of_the_answers_are_explained() -> None:
    words = (
        *QUESTIONS,
        *VERDICTS,
        "ceiling",
        "exposed",
        "dilution",
        "layer",
        "reading",
        "pass",
        "cycle",
        "step",
        "kappa",
    )
    assert [word for word in words if not looked_up(word)] == []
    assert PHASES
    assert all(phase in looked_up("phase")[0].text for phase in PHASES)


def test_each_has_two_sentences_or_three_and_ends() -> None:
    counts = {each.word: len(re.findall(r"[.?](?= |$)", each.text)) for each in entries()}
    assert {word: count for word, count in counts.items() if count not in (2, 3)} == {}
    assert all(each.text.endswith(".") for each in entries())
    assert len({(each.kind, each.word) for each in entries()}) == len(entries())


def test_words_are_found_however_they_are_written() -> None:
    assert [each.word for each in looked_up("no go")] == ["NO-GO"]
    assert [each.word for each in looked_up("Hit-Rate")] == ["hit_rate"]
    assert {each.kind for each in entries()} == {TERM, CAVEAT}
