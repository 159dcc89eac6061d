"""Mathematical notation, plain and LaTeX: read whole, then compared by exact or 50-digit evaluation."""

from .compare import names_in, same_value
from .forms import factors, has_products_of_sums
from .nodes import Value
from .rough import differ_clearly, estimate
from .statements import name_of, read_maths
from .symbols import symbolic

__all__ = [
    "Value",
    "differ_clearly",
    "estimate",
    "factors",
    "has_products_of_sums",
    "name_of",
    "names_in",
    "read_maths",
    "same_value",
    "symbolic",
]
