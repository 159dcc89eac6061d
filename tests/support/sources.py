"""The sources of the package, for tests of its structure: files, imports, comments."""

from __future__ import annotations

import ast
import functools
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PACKAGE", "ROOT", "Import", "Module", "modules", "tracked"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "pnyx"

_NO_REASON = re.compile(r"#\s*(noqa|type:|fmt:|pragma)\b[^#]*")


@dataclass(frozen=True, slots=True)
class Import:
    """One module that a module imports. runs: False where only a type checker imports it.

    reasoned: it is in a function, where a comment beside it or another import of that function says why.
    """

    target: str
    line: int
    in_function: bool
    runs: bool
    reasoned: bool


@dataclass(frozen=True)
class Module:
    """A source file of the package. name: dotted, "pnyx.core.steps"; a package's is that of its folder."""

    name: str
    path: Path

    @property
    def where(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @functools.cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @functools.cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))

    @functools.cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import, at any level; names of pnyx are resolved to their modules."""
        every, inner = _imports(self.tree), dict[ast.stmt, bool]()
        indented = any(node.col_offset for node in every)
        reasons = _reasons(self.text) if indented else set[int]()
        for function in self.functions if indented else ():
            inside = _imports(function)
            reasoned = any(_explained(node, reasons) for node in inside)
            inner |= {node: reasoned or inner.get(node, False) for node in inside}
        typing = {
            node
            for block in (ast.walk(self.tree) if indented else ())
            if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
            for node in _imports(block)
        }
        return tuple(
            Import(target, node.lineno, node in inner, node not in typing, inner.get(node, False))
            for node in every
            for target in sorted(self._targets(node))
        )

    def _targets(self, node: ast.Import | ast.ImportFrom) -> set[str]:
        if isinstance(node, ast.Import):
            return {alias.name for alias in node.names}
        origin = node.module or ""
        if node.level:
            package = self.name.split(".")
            up = node.level - (self.path.name == "__init__.py")
            origin = ".".join([*package[: len(package) - up], *filter(None, [node.module])])
        # Names such as a package's `__version__` are bound before anything is imported: no dependency.
        names = [alias.name for alias in node.names if not alias.name.startswith("__")]
        return {f"{origin}.{name}" if _is_module(f"{origin}.{name}") else origin for name in names}


@functools.cache
def modules() -> tuple[Module, ...]:
    """Return all modules of the package, sorted by name."""
    found = [Module(_name(path), path) for path in PACKAGE.rglob("*.py")]
    return tuple(sorted(found, key=lambda module: module.name))


@functools.cache
def tracked() -> tuple[Path, ...]:
    """Return the files that git tracks or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def _name(path: Path) -> str:
    parts = ["pnyx", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def _is_module(name: str) -> bool:
    head, *rest = name.split(".")
    path = PACKAGE.joinpath(*rest)
    return head == "pnyx" and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())


def _imports(tree: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def _explained(node: ast.stmt, reasons: set[int]) -> bool:
    return any(line in reasons for line in range(node.lineno - 1, (node.end_lineno or node.lineno) + 1))


def _reasons(text: str) -> set[int]:
    """Return the lines with a comment for readers, not only for a tool."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and _NO_REASON.sub("", token.string).strip("# ")
    }
