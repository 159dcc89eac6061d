"""Options that commands share, and the types of their values. Imports nothing heavy."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from ...core.models import MOST
from .terminal.output import streams

__all__ = [
    "AMOUNT",
    "PAIR",
    "PROTOCOL",
    "concurrency",
    "json_option",
    "output_options",
    "panel_options",
    "preset_options",
    "run_id",
    "run_options",
]


class _Amount(click.ParamType[float]):
    """A number above zero that is no larger than ledgers hold."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number > 0):
            self.fail(f"{value!r} is not a number above zero", param, ctx)
        if number > MOST:
            self.fail(f"{value!r} is more than {MOST:,.0f}", param, ctx)
        return number


class _Pair(click.ParamType[tuple[str, str]]):
    """NAME=VALUE."""

    name = "pair"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not (name.strip() and equals):
            self.fail(f"{value!r} is not of the form {param.metavar if param else 'NAME=VALUE'}", param, ctx)
        return name.strip(), text


class _Protocol(click.ParamType[str]):
    """The name of a protocol; an unknown one is refused later, with what there is."""

    name = "protocol"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # Only the shell asks for this.
        from ...protocols import names

        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]


AMOUNT, PAIR, PROTOCOL = _Amount(), _Pair(), _Protocol()

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
concurrency = click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    metavar="N",
    help="Questions at once.",
)
run_id = click.argument("run_id", metavar="ID")


def panel_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """-p and -m: how to decide, and who."""
    for option in (
        click.option(
            "-m",
            "--model",
            "models",
            multiple=True,
            metavar="REF[*N]",
            help="A seat for provider:model, or N seats; repeat it for more.",
        ),
        click.option(
            "-p", "--protocol", type=PROTOCOL, metavar="NAME", help="How to decide; see `pnyx protocols`."
        ),
    ):
        command = option(command)
    return command


def preset_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--quick or --deep, as `preset`."""
    for name, told in (("deep", "a thorough"), ("quick", "a fast")):
        command = click.option(
            f"--{name}",
            is_flag=True,
            expose_value=False,
            callback=_preset,
            help=f"The protocol's options for {told} answer.",
        )(command)
    return command


def _preset(context: click.Context, flag: click.Parameter, given: bool) -> None:
    # Two flags for one name would leave it to the last of them.
    if given and context.params.get("preset"):
        raise click.UsageError("--quick and --deep are two ways to ask; give one of them")
    context.params["preset"] = flag.name if given else context.params.get("preset")


_RUN = (
    click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="At most N rounds."),
    click.option(
        "--option",
        "options",
        type=PAIR,
        multiple=True,
        metavar="KEY=VALUE",
        help="Any option of the protocol; repeat it for more.",
    ),
    preset_options,
    click.option(
        "--roles",
        "cast",
        metavar="NAME",
        help="A role for every seat: diverse (skeptic, advocate, pragmatist in turn) or redteam.",
    ),
    click.option(
        "--role",
        "roles",
        type=PAIR,
        multiple=True,
        metavar="SEAT=TEXT",
        help="A role for a seat, by number or letter; repeat it for more.",
    ),
    click.option(
        "--deadline",
        type=AMOUNT,
        metavar="SECONDS",
        help="Pause after this long; counted anew when the run is resumed.",
    ),
    click.option(
        "--stall-timeout", type=AMOUNT, metavar="SECONDS", help="Give up on a call after this long."
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        metavar="N",
        help="Draw alike; models are told too.",
    ),
    click.option("--tools/--no-tools", default=None, help="Let seats use tools, or not; see docs/tools.md."),
    click.option(
        "--ground", is_flag=True, help="Search the web first; seats cite the same numbered sources."
    ),
    click.option(
        "--allow-unknown-price", is_flag=True, help="With a budget, ask models without a known price."
    ),
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a run is to go, whatever it asks: rounds, roles, deadlines, tools."""
    for option in reversed(_RUN):
        command = option(command)
    return command


def output_options(command: Callable[..., int]) -> Callable[..., int]:
    """--json | --jsonl | --plain, -q, -v, --no-input; the command gets them as one `output`."""

    @functools.wraps(command)
    def speaking(
        as_json: bool, as_jsonl: bool, plain: bool, quiet: bool, verbose: bool, no_input: bool, **given: Any
    ) -> int:
        if as_json and as_jsonl:
            raise click.UsageError("--json and --jsonl are two outputs; give one")
        form = "json" if as_json else "jsonl" if as_jsonl else "text"
        return command(output=streams(form, plain, quiet, verbose, no_input), **given)

    for option in (
        click.option("--no-input", is_flag=True, help="Never ask back."),
        click.option("-v", "--verbose", is_flag=True, help="Replies in full; with --jsonl, tokens too."),
        click.option("-q", "--quiet", is_flag=True, help="Only the answer and errors."),
        click.option("--plain", is_flag=True, help="Lines without colour, and no live view."),
        click.option("--jsonl", "as_jsonl", is_flag=True, help="Print each event as it happens."),
        click.option("--json", "as_json", is_flag=True, help="Print one result object."),
    ):
        speaking = option(speaking)
    return speaking
