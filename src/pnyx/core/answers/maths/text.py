"""The canonical text of a mathematical value, in plain notation, which reads as the same value."""

from __future__ import annotations

from .nodes import (
    Apply,
    Based,
    Bindings,
    Comparison,
    Conditions,
    Constant,
    Difference,
    Group,
    Matrix,
    Number,
    Union,
    Value,
    Variable,
)

__all__ = ["text_of"]

_CONSTANTS = {"pi": "π", "inf": "infinity"}
_SUM, _PRODUCT, _SIGNED, _POWER, _ATOM = range(1, 6)
_ROOTS = {2: "√", 3: "∛", 4: "∜"}


def text_of(value: Value) -> str:
    """`value` in plain notation."""
    match value:
        case Bindings(values):
            return ", ".join(f"{name}={text_of(v)}" for name, v in values)
        case Comparison(terms, signs):
            shown = list(map(text_of, terms))
            return shown[0] + "".join(f"{sign}{term}" for sign, term in zip(signs, shown[1:], strict=True))
        case Conditions(joint, parts):
            return (", " if joint == "," else f" {joint} ").join(map(text_of, parts))
        case Union(parts):
            return " ∪ ".join(map(text_of, parts))
        case Difference(whole, part):
            return f"{text_of(whole)} ∖ {text_of(part)}"
        case Based(digits, base):
            return f"{digits}_{base}"
        case Matrix(rows):
            shown_rows = r" \\ ".join(" & ".join(map(text_of, row)) for row in rows)
            return rf"\begin{{pmatrix}} {shown_rows} \end{{pmatrix}}"
        case Group("⦃", _, ()):
            return "∅"
        case Group(opens, closes, items):
            inside = ", ".join(map(text_of, items))
            return f"{opens}{inside}{closes}".replace("⦃", "{").replace("⦄", "}")
    return _node(value)[0]


def _node(node: Value) -> tuple[str, int]:
    """The text of an expression, and how tightly its outermost operator binds."""
    match node:
        case Number(value):
            if value.denominator == 1:
                return str(value), _ATOM
            return str(value), _PRODUCT
        case Constant(name):
            return _CONSTANTS.get(name, name), _ATOM
        case Variable(name, _):
            return name if "_" not in name else _subscripted(name), _ATOM
        case Apply(name, args):
            return _applied(name, args)
    return text_of(node), _SUM


def _subscripted(name: str) -> str:
    head, _, index = name.partition("_")
    return f"{head}_{{{index}}}" if len(index) > 1 else f"{head}_{index}"


def _inside(node: Value, least: int) -> str:
    text, tightness = _node(node)
    return text if tightness >= least else f"({text})"


def _applied(name: str, args: tuple[Value, ...]) -> tuple[str, int]:
    match name, args:
        case "+", (left, Apply("neg" | "±" | "∓" as sign, (inner,))):
            mark = "-" if sign == "neg" else sign
            return f"{_inside(left, _SUM)}{mark}{_inside(inner, _PRODUCT)}", _SUM
        case "+", (left, right):
            return f"{_inside(left, _SUM)}+{_inside(right, _PRODUCT)}", _SUM
        case "*", (left, right):
            return _product(left, right), _PRODUCT
        case "/", (left, right):
            return f"{_inside(left, _PRODUCT)}/{_inside(right, _SIGNED)}", _PRODUCT
        case "neg" | "±" | "∓", (inner,):
            return f"{'-' if name == 'neg' else name}{_inside(inner, _SIGNED)}", _SIGNED
        case "^", (base, exponent):
            return f"{_inside(base, _ATOM)}^{_inside(exponent, _ATOM)}", _POWER
        case "root", (inner, Number(degree)) if degree in _ROOTS:
            return f"{_ROOTS[int(degree)]}{_inside(inner, _ATOM)}", _ATOM
        case "root", (inner, degree):
            return rf"\sqrt[{_node(degree)[0]}]{{{_node(inner)[0]}}}", _ATOM
        case "!" | "!!", (inner,):
            return f"{_inside(inner, _ATOM)}{name}", _POWER
        case "deg", (inner,):
            return f"{_inside(inner, _ATOM)}°", _POWER
        case "abs", (inner,):
            return f"|{_node(inner)[0]}|", _POWER
        case "floor" | "ceil", (inner,):
            marks = "⌊⌋" if name == "floor" else "⌈⌉"
            return f"{marks[0]}{_node(inner)[0]}{marks[1]}", _ATOM
        case "binom", (above, below):
            return rf"\binom{{{_node(above)[0]}}}{{{_node(below)[0]}}}", _ATOM
        case "log", (inner, base):
            return rf"\log_{{{_node(base)[0]}}}({_node(inner)[0]})", _POWER
    return f"{name.removesuffix('()')}({', '.join(_node(arg)[0] for arg in args)})", _POWER


def _product(left: Value, right: Value) -> str:
    before, after = _inside(left, _PRODUCT), _inside(right, _POWER)
    joins = before[-1].isdigit() and (
        after[0] in "√π(" or (after[0].isalpha() and after[0].lower() not in "ex" and len(after) < 2)
    )
    joins = joins or (
        before[-1].isdigit()
        and after[0].isalpha()
        and after[:2].lower() not in ("e+", "e-")
        and not _is_word(right)
    )
    if joins or (before[-1] == ")" and after[0] == "("):
        return before + after
    return f"{before}*{after}"


def _is_word(node: Value) -> bool:
    return isinstance(node, Variable) and node.word
