"""The optional parts of pnyx: the modules that each needs, and the command that installs a missing one.

The base installation has no SDK, no web server and no engine for models. What is missing is named here and
nowhere else: `need` where a part is opened, `explain` where an import has failed.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from .errors import MissingExtra

__all__ = ["EXTRAS", "explain", "install_command", "missing", "need"]

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "embedded": ("xllamacpp",),
    "openai": ("pydantic_ai", "openai"),
    "anthropic": ("pydantic_ai", "anthropic"),
    "google": ("pydantic_ai", "google.genai"),
    "mistral": ("pydantic_ai", "mistralai"),
    "serve": ("fastapi", "starlette", "sse_starlette", "uvicorn", "mcp", "anyio"),
    "mcp": ("mcp", "anyio"),
    "postgres": ("asyncpg",),
    "worker": ("procrastinate", "psycopg", "asyncpg"),
    "tools": ("ddgs", "pydantic_monty", "trafilatura"),
    "files": ("charset_normalizer", "openpyxl", "pathspec", "pypdf", "docx"),
    "eval": ("inspect_ai",),
    "keyring": ("keyring",),
    "prometheus": ("prometheus_client",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}
"""Extra -> the modules that it adds, by the names under which they are imported."""


def need(extra: str, what: str, *modules: str) -> None:
    """Raise `MissingExtra` unless `modules` of `extra`, by default all, are installed.

    what: the part that needs them.
    """
    if not all(map(_is_installed, modules or EXTRAS[extra])):
        raise _error(extra, what)


def missing(extra: str) -> tuple[str, ...]:
    """The modules of `extra` that are not installed. Imports none but the packages that contain one."""
    return tuple(module for module in EXTRAS[extra] if not _is_installed(module))


def explain(exc: ImportError) -> MissingExtra | None:
    """The missing extra behind a failed import, None if the module belongs to none."""
    name = exc.name or ""
    for extra, modules in EXTRAS.items():
        if any(name == module or name.startswith(f"{module}.") for module in modules) and missing(extra):
            return _error(extra, "this")
    return None


def install_command(extra: str) -> str:
    """The command that adds `extra` to this installation, however that was made.

    uv and pipx make a new environment for a tool, so their commands name the extras that are there too.
    """
    url, editable = _source()
    prefix = Path(sys.prefix)
    all_extras = ",".join(name for name in EXTRAS if name == extra or not missing(name))
    if (prefix / "uv-receipt.toml").is_file():
        return f"uv tool install --force {shlex.quote(_requirement(all_extras, url))}"
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx install --force {shlex.quote(_requirement(all_extras, url))}"
    if editable and url.startswith("file://"):
        target = "-e " + shlex.quote(f"{unquote(url.removeprefix('file://'))}[{extra}]")
    else:
        target = shlex.quote(_requirement(extra, url))
    python = shlex.quote(sys.executable)
    if find_spec("pip"):
        return f"{python} -m pip install {target}"
    return f"uv pip install --python {python} {target}"


def _error(extra: str, what: str) -> MissingExtra:
    return MissingExtra(
        extra,
        f"{what} needs the extra {extra!r} (missing: {', '.join(missing(extra))}); "
        f"install it with: {install_command(extra)}",
    )


def _requirement(extras: str, url: str) -> str:
    return f"pnyx[{extras}]" + (f" @ {url}" if url else "")


def _source() -> tuple[str, bool]:
    """The URL that pnyx was installed from, "" for an index; whether it is editable (PEP 610)."""
    try:
        text = distribution("pnyx").read_text("direct_url.json")
    except PackageNotFoundError:
        return "", False
    if not text:
        return "", False
    document = json.loads(text)
    version_control = document.get("vcs_info")
    prefix = f"{version_control['vcs']}+" if version_control else ""
    revision = (version_control or {}).get("requested_revision")
    suffix = f"@{revision}" if revision else ""
    return f"{prefix}{document['url']}{suffix}", bool(document.get("dir_info", {}).get("editable"))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        # The package that would contain it is missing, or a test has blocked it.
        return False
