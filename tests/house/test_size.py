"""Sizes that keep every file readable: 400 lines, function bodies of 40, three levels of nesting."""

import ast

from house.source_tree import ROOMS, functions, modules, name_of

MODULE_LINES = 400
BODY_LINES = 40
NESTING = 3
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def test_modules_end_before_line_400() -> None:
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules(*ROOMS)}
    assert {path: count for path, count in lines.items() if count > MODULE_LINES} == {}


def test_function_bodies_end_within_40_lines() -> None:
    sizes = {f"{name_of(path)}: {each.name}": body_lines(each) for path in modules(*ROOMS) for each in functions(path)}
    assert {function: size for function, size in sizes.items() if size > BODY_LINES} == {}


def test_nesting_stays_within_three_levels() -> None:
    depths = {f"{name_of(path)}: {each.name}": depth(each.body) for path in modules("src") for each in functions(path)}
    assert {function: levels for function, levels in depths.items() if levels > NESTING} == {}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement after the docstring to the end."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def depth(body: list[ast.stmt]) -> int:
    """Levels of blocks inside blocks; `elif` is no level of its own, a nested function begins anew."""
    return max((block_depth(node) for node in body if isinstance(node, BLOCKS)), default=0)


def block_depth(node: ast.stmt) -> int:
    inner: list[ast.stmt] = []
    for child in ast.iter_child_nodes(node):
        inner += [child] if isinstance(child, ast.stmt) else []
        inner += [stmt for stmt in ast.iter_child_nodes(child) if isinstance(stmt, ast.stmt)]
    is_chain = isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
    chain = block_depth(node.orelse[0]) if is_chain and isinstance(node, ast.If) else 0
    rest = [stmt for stmt in inner if not (is_chain and isinstance(node, ast.If) and stmt is node.orelse[0])]
    return max(1 + depth(rest), chain)


def test_the_depth_counter_counts() -> None:
    source = """
def f():
    if a:
        for b in c:
            try:
                pass
            except E:
                while d:
                    pass
    elif e:
        pass
    elif g:
        with h:
            pass
"""
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert depth(function.body) == 4
    assert body_lines(function) == 12
