"""The objects of a run are complete when constructed: no code sets attributes of another object later."""

from __future__ import annotations

import ast

from tests.support.sources import PACKAGE

OWN = {("journal.py", "unit"), ("journal.py", "buffered")}
"""Variables of classes that are private to the module that sets their attributes."""


def test_no_module_of_run_sets_an_attribute_of_another_object() -> None:
    wrong = []
    for path in sorted((PACKAGE / "run").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                targets = node.targets
            elif isinstance(node, ast.AugAssign | ast.AnnAssign):
                targets = [node.target]
            for target in targets:
                if isinstance(target, ast.Attribute):
                    owner = ast.unparse(target.value)
                    if owner != "self" and (path.name, owner) not in OWN:
                        wrong.append(f"{path.name}:{target.lineno} sets {ast.unparse(target)}")
    assert not wrong, "\n".join(wrong)


def test_every_field_is_set_at_construction() -> None:
    wrong = [
        f"{path.name}:{node.lineno}"
        for path in sorted((PACKAGE / "run").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "init"
    ]
    assert not wrong, "\n".join(wrong)
