"""What `git diff` shows, as a file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..core.context.files import Source
from ..errors import FileProblem
from ..phrases import first_of
from .own_output import is_own_output
from .read import DIFF
from .secret_files import looks_secret

__all__ = ["Diff", "is_revision", "read_diff"]

SECONDS = 120
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without files, which every repository has: for one without a commit."""
_SAFE = ("-c", "core.fsmonitor=false", "-c", "core.quotepath=off", "-c", "color.ui=never")
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
# A partial clone fetches what it lacks, by a program that its settings may name.
_ENVIRONMENT |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_OWN_SCOPES = ("local", "worktree")
"""Of settings that come with a repository, and not from the user."""


class Diff:
    """The changes of a working tree. source: None if there are none. notes: what the person should know."""

    def __init__(self, source: Source | None, notes: tuple[str, ...]) -> None:
        self.source, self.notes = source, notes


def is_revision(text: str, folder: Path) -> bool:
    """Whether git in `folder` knows the revision or range."""
    if text.startswith("-") or not text.strip():
        return False
    ends = [one or "HEAD" for one in text.replace("...", "..").split("..")]
    checks = (_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", one) for one in ends)
    return all(done.returncode == 0 for done in checks)


def read_diff(revision: str | None, folder: Path) -> Diff:
    """Return the diff of the working tree in `folder` against `revision`; None: the last commit.

    A range (main..topic) is the diff of its ends. Programs that the repository's settings name are not run: a
    folder that somebody else made may come with them. Raises `FileProblem` if there is no repository or no
    such revision.
    """
    if _git(folder, "rev-parse", "--is-inside-work-tree").returncode != 0:
        raise FileProblem(f"--diff needs a git repository, and {folder.resolve()} is in none")
    if revision is None:
        revision = "HEAD" if is_revision("HEAD", folder) else EMPTY_TREE
    elif not is_revision(revision, folder):
        raise FileProblem(f"git knows no revision {revision!r} here; `git log --oneline` lists some")
    names = _lines(_diff(folder, revision, ["--name-only", "-z"]), "\0")
    secrets = [name for name in names if looks_secret(name)]
    top = folder / _output(folder, "rev-parse", "--show-cdup").removesuffix("\n")
    written = [name for name in names if is_own_output(top / name)]
    shown = ["--", ":/", *(f":(top,exclude,literal){name}" for name in (*secrets, *written))]
    text = _diff(folder, revision, ["--stat=200", "--patch"], shown)
    notes = [f"left out of the diff, as they look like secrets: {first_of(secrets)}"] if secrets else []
    new = _lines(_output(folder, "ls-files", "--others", "--exclude-standard", "-z", ":/"), "\0")
    new = [name for name in new if not is_own_output(folder / name)]
    if new:
        notes.append(f"not in the diff, as git does not track them: {first_of(new)}; `git add -N` adds them")
    if not text.strip():
        return Diff(None, tuple(notes))
    label = "uncommitted changes" if revision in ("HEAD", EMPTY_TREE) else f"changes, {revision}"
    return Diff(Source(name=label, content=text, media_type=DIFF), tuple(notes))


def _diff(folder: Path, revision: str, form: Sequence[str], paths: Sequence[str] = ()) -> str:
    plain = ("--no-ext-diff", "--no-textconv", "--no-color")
    # In a submodule, git would run the programs of its settings.
    shallow = ("--submodule=short", "--ignore-submodules=dirty")
    arguments = ("diff", *plain, *shallow, *form, "--end-of-options", revision, *paths)
    return _output(folder, *arguments, before=_without_filters(folder))


def _without_filters(folder: Path) -> tuple[str, ...]:
    """Options of git that turn off the filters of the repository, programs that git runs on changed files.

    Raises `FileProblem` for a filter that cannot be turned off.
    """
    found = _git(folder, "config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
    if found.returncode > 1:  # 1: there are none
        raise FileProblem("--diff needs git 2.26 or newer")
    words = found.stdout.decode("utf-8", "surrogateescape").split("\0")
    options = dict[str, None]()
    for scope, key in zip(words[::2], words[1::2], strict=False):
        if scope not in _OWN_SCOPES:
            continue
        name = key.partition(".")[2].rpartition(".")[0]
        if "=" in name or "\n" in name:
            raise FileProblem(
                f"--diff cannot turn off the filter {name[:80]!r} of this repository's settings; "
                "remove it there, or pass a diff with --file"
            )
        off = (f"filter.{name}.clean=", f"filter.{name}.process=", f"filter.{name}.required=false")
        options |= dict.fromkeys(off)
    return tuple(word for option in options for word in ("-c", option))


def _output(folder: Path, *arguments: str, before: Sequence[str] = ()) -> str:
    """before: options of git itself."""
    done = _git(folder, *before, *arguments)
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise FileProblem(f"git {arguments[0]} failed: {why[:300]}")
    return done.stdout.decode("utf-8", "replace")


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", "--no-pager", *_SAFE, *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, **_ENVIRONMENT},
            check=False,
        )
    except FileNotFoundError:
        raise FileProblem("--diff needs git, which is not installed") from None
    except subprocess.TimeoutExpired:
        raise FileProblem(f"git {arguments[0]} took longer than {SECONDS} s") from None


def _lines(text: str, end: str) -> list[str]:
    return [one for one in text.split(end) if one]
