"""`--diff`: what git shows, with the line numbers of the new files."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import UsageError
from pnyx.files.diff import is_revision, read_diff
from pnyx.files.diff_lines import is_diff, number_diff
from tests.support.properties import examples


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def change(repository: Path, number: int = 20) -> None:
    lines = (repository / "a.py").read_text().splitlines(keepends=True)
    lines[number - 1 : number] = [f"changed {number}\n", "added\n"]
    (repository / "a.py").write_text("".join(lines))


def test_uncommitted_changes_are_the_default_staged_or_not(repository: Path) -> None:
    change(repository)
    git(repository, "add", ".")
    change(repository, 5)
    source = read_diff(None, repository).source
    assert source is not None
    assert source.name == "uncommitted changes"
    text = source.content or ""
    assert "+changed 20" in text
    assert "+changed 5" in text
    assert text.lstrip().startswith("a.py |")


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("inner", [True, False])
def test_what_the_process_itself_writes_is_neither_in_the_diff_nor_named(
    repository: Path, stream: str, tracked: bool, inner: bool
) -> None:
    folder = repository / "inner" if inner else repository
    folder.mkdir(exist_ok=True)
    if tracked:
        (folder / "out.md").write_text("an answer before\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "second")
    change(repository)
    (folder / "other.md").write_text("new\n")
    reader, writer = os.pipe()
    program = (
        "import os, pathlib; from pnyx.files.diff import read_diff; found = read_diff(None, pathlib.Path());"
        f"os.write({writer}, repr((found.source.content, found.notes)).encode())"
    )
    command: list[str] = [sys.executable, "-c", program]
    with (folder / "out.md").open("w") as file:
        if stream == "stdout":
            subprocess.run(command, cwd=folder, pass_fds=[writer], check=True, stdout=file)
        else:
            subprocess.run(command, cwd=folder, pass_fds=[writer], check=True, stderr=file)
    os.close(writer)
    with open(reader) as found:
        content, notes = ast.literal_eval(found.read())
    assert "+changed 20" in content
    assert "out.md" not in content
    assert notes == ("not in the diff, as git does not track them: other.md; `git add -N` adds them",)


def test_a_revision_and_a_range_are_compared_with(repository: Path) -> None:
    change(repository)
    git(repository, "commit", "-qam", "second")
    assert read_diff(None, repository).source is None
    for revision in ("HEAD~1", "HEAD~1..HEAD", "HEAD~1..", "HEAD~1...HEAD"):
        source = read_diff(revision, repository).source
        assert source is not None
        assert "+changed 20" in (source.content or "")
        assert source.name == f"changes, {revision}"


@pytest.mark.parametrize(
    "setting",
    ["filter.evil.clean", "filter.evil.process", "diff.external", "core.fsmonitor", "submodule"],
)
def test_no_program_that_a_repository_names_is_run(repository: Path, setting: str) -> None:
    proof = repository / ".git" / "proof"
    program = f"touch '{proof}'; cat"
    (repository / ".git" / "info").mkdir(exist_ok=True)
    if setting == "submodule":
        inner = repository / "inner"
        inner.mkdir()
        git(inner, "init", "-q")
        (inner / "b.py").write_text("1\n")
        git(inner, "add", ".")
        git(inner, "commit", "-qm", "first")
        git(repository, "add", "inner")
        git(repository, "commit", "-qm", "with a submodule")
        git(inner, "config", "core.fsmonitor", program)
        (inner / "b.py").write_text("2\n")
    else:
        change(repository)
        (repository / ".git" / "info" / "attributes").write_text("* filter=evil\n")
        git(repository, "config", setting, program)
    subprocess.run(["git", "diff", "HEAD"], cwd=repository, check=False, capture_output=True)
    assert proof.exists(), "git itself ran no program: this case shows nothing"
    proof.unlink()
    source = read_diff(None, repository).source
    assert source is not None or setting == "submodule"
    assert not proof.exists()


def test_the_whole_repository_counts_wherever_one_stands_in_it(repository: Path) -> None:
    change(repository)
    (repository / "inner").mkdir()
    assert read_diff(None, repository / "inner").source is not None


def test_a_repository_without_a_commit_has_a_diff(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("x = 1\n")
    git(tmp_path, "add", ".")
    source = read_diff(None, tmp_path).source
    assert "+x = 1" in (source.content or "" if source else "")


def test_new_files_and_secrets_are_named(repository: Path) -> None:
    change(repository)
    (repository / "new.py").write_text("x\n")
    (repository / ".env").write_text("KEY=planted-secret\n")
    git(repository, "add", "-N", ".env")
    diff = read_diff(None, repository)
    assert "planted-secret" not in (diff.source.content or "" if diff.source else "")
    assert any("secrets: .env" in note for note in diff.notes)
    assert any("does not track them: new.py" in note for note in diff.notes)


def test_no_repository_and_unknown_revisions_are_errors(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.raises(UsageError, match="needs a git repository"):
        read_diff(None, tmp_path_factory.mktemp("plain"))
    for revision in ("nowhere", "--output=x", "-p", "HEAD..nowhere"):
        assert not is_revision(revision, repository)
        with pytest.raises(UsageError, match="git knows no revision"):
            read_diff(revision, repository)
    assert not (repository / "x").exists()


def test_programs_of_the_repositorys_settings_are_not_run(repository: Path) -> None:
    change(repository)
    marker = repository / "ran"
    git(repository, "config", "diff.external", f"touch {marker}")
    git(repository, "config", "diff.py.textconv", f"touch {marker}")
    git(repository, "config", "core.fsmonitor", f"touch {marker}")
    (repository / ".gitattributes").write_text("*.py diff=py\n")
    assert read_diff(None, repository).source is not None
    assert not marker.exists()


@examples(15)
@given(st.lists(st.sampled_from(["keep", "drop", "add", "-- x", "++ y", "@@ z"]), min_size=1, max_size=12))
def test_every_added_or_kept_line_has_its_number_in_the_new_file(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    old = [f"{kind} {n}" for n, kind in enumerate(kinds) if kind != "add"]
    new = [f"{kind} {n}" for n, kind in enumerate(kinds) if kind != "drop"]
    for name, lines in (("old", old), ("new", new)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    text = subprocess.run(
        ["diff", "-u", "old", "new"], cwd=folder, capture_output=True, text=True, check=False
    ).stdout
    assert is_diff(text) == bool(text)
    for line in number_diff(text.rstrip("\n")).splitlines():
        number, bar, rest = line.partition("| ")
        if number.isdigit() and bar:
            assert new[int(number) - 1] == rest[1:]
            assert rest[0] in " +"
    numbered = [
        line for line in number_diff(text.rstrip("\n")).splitlines() if line.partition("| ")[0].isdigit()
    ]
    assert sum(line.partition("| ")[2][0] == "+" for line in numbered) == sum(
        line.startswith("+") for line in text.splitlines()[2:]
    )


def test_other_texts_are_no_diffs() -> None:
    assert not is_diff("--- a title\ntext\n")
    assert not is_diff("x = 1\n- removed\n+ added\n")
