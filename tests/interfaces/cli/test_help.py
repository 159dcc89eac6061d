"""`pnyx --help` lists all commands quickly, and every command is documented."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.shell_completion import CompletionItem

from pnyx import __version__
from pnyx.interfaces.cli import COMMANDS, cli, completing
from tests.interfaces.reference import PAGE, page
from tests.interfaces.shell import pnyx

NAMES = [name for section in COMMANDS.values() for name in section]
LIBRARIES = "pydantic", "pydantic_ai", "sqlalchemy", "alembic", "rich", "httpx", "openai", "genai_prices"
HEAVY = (
    *LIBRARIES,
    "pnyx.run.options.resolve",
    "pnyx.run.spec",
    "pnyx.run.runner",
    "pnyx.providers",
    "pnyx.store",
    "pnyx.config.load",
)
PROBE = f"""
import sys
from pnyx.interfaces.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("HEAVY", [name for name in {HEAVY!r} if name in sys.modules])
"""


def test_help_lists_every_command_with_its_summary() -> None:
    done = pnyx("--help")
    assert done.code == 0
    for section in COMMANDS.values():
        for name, (_, summary) in section.items():
            assert f"{name:11}  {summary}" in done.out


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["ask", "--help"], ["runs", "--help"], ["frob"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROBE, *args], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("HEAVY []\n")


def test_help_takes_at_most_a_few_times_the_processor_time_of_an_empty_program() -> None:
    def once(*program: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *program], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # The minimum of several runs, because other processes add to the rest: 0.1 s on a fast machine.
    empty = min(once("-c", "pass") for _ in range(8))
    assert min(once("-m", "pnyx", "--help") for _ in range(8)) <= 7 * max(empty, 0.014)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_explains_itself(name: str) -> None:
    done = pnyx(name, "-h")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: pnyx {name} ")


def test_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.interfaces.reference"


def test_version_is_that_of_the_package() -> None:
    assert pnyx("--version").out == f"pnyx {__version__}\n"


def test_an_unknown_command_is_a_mistake_in_usage() -> None:
    done = pnyx("frob")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("pnyx: no command 'frob'; the commands are ask, chat, ")
    assert done.err.endswith(" (see pnyx --help)\n")


@pytest.mark.parametrize("group", [(), ("config",)])
def test_a_group_without_a_command_shows_its_help(group: tuple[str, ...]) -> None:
    done = pnyx(*group)
    assert (done.code, done.out) == (2, "")
    assert done.err == pnyx(*group, "--help").out


@pytest.mark.parametrize(
    ("words", "expected"),
    [("pnyx re", "resume"), ("pnyx ask -p co", "consensus"), ("pnyx ask --dry", "--dry-run")],
)
def test_the_shell_completes_commands_options_and_protocols(words: str, expected: str) -> None:
    env = {"_PNYX_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", "from pnyx.interfaces.cli import main; main()"],
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert expected in done.stdout


@pytest.mark.parametrize(("metavar", "completed"), [("REF", "complete_models"), ("ID", "complete_runs")])
def test_the_shell_completes_models_and_runs_wherever_one_is_named(
    metavar: str, completed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completing, completed, lambda *_: [CompletionItem("found")])

    def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
        yield path, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from commands(found, f"{path} {name}")

    named = [
        (path, param.name, [item.value for item in param.shell_complete(click.Context(command), "")])
        for path, command in commands(cli, "pnyx")
        # Runs that are held back are in PostgreSQL, which nothing completes from.
        if not path.startswith("pnyx worker")
        for param in command.params
        if re.search(rf"\b{metavar}\b", param.metavar or "")
    ]
    assert len(named) > 9
    assert not [one for one in named if one[2] != ["found"]]


def test_an_argument_that_is_not_text_is_refused() -> None:
    done = pnyx("show", "\udcff")
    assert done.code == 2
    assert "is not UTF-8" in done.err


def test_a_bug_is_one_line_and_a_traceback_only_with_verbose(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> int:
        raise ZeroDivisionError("oh \x1b[31m")

    monkeypatch.setattr("pnyx.interfaces.cli.actions.ask.ask", broken)
    done = pnyx("ask", "x")
    assert done.code == 1
    assert done.err == "pnyx: this is a bug in pnyx: ZeroDivisionError: oh ␛[31m (-v shows the traceback)\n"
    assert "Traceback" in pnyx("ask", "x", "-v").err
