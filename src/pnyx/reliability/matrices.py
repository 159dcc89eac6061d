"""Systems of linear equations, with lists of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Matrix", "Vector", "cholesky", "solve"]

Vector: TypeAlias = list[float]
Matrix: TypeAlias = list[Vector]


def cholesky(matrix: Sequence[Sequence[float]]) -> Matrix:
    """Return the lower triangular factor of a symmetric, positive definite matrix."""
    size = len(matrix)
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            left = matrix[i][j] - sum(map(float.__mul__, lower[i][:j], lower[j][:j]))
            lower[i][j] = left**0.5 if i == j else left / lower[j][j]
    return lower


def solve(lower: Matrix, right: Sequence[float]) -> Vector:
    """Solve the system whose matrix has the Cholesky factor `lower`."""
    size = len(right)
    half: Vector = []
    for i in range(size):
        half.append((right[i] - sum(map(float.__mul__, lower[i], half))) / lower[i][i])
    out = [0.0] * size
    for i in reversed(range(size)):
        out[i] = (half[i] - sum(lower[k][i] * out[k] for k in range(i + 1, size))) / lower[i][i]
    return out
