"""What a request of any API contains: instructions, earlier turns, the question, and limits."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .... import protocols
from ....config.tables.server import ServedModel
from ....core.context.files import Source
from ....core.text import Material
from ....errors import NotFound, UsageError
from ....evaluate.execution.arm_names import PRESET, parse_arm
from ....run.options.request import RunRequest
from ....similar import closest
from ...requests.schemas import RunBody

if TYPE_CHECKING:
    from .tools import Tools

__all__ = [
    "INSTRUCTING",
    "PREFIX",
    "Conversation",
    "RefusedError",
    "Turn",
    "joined",
    "refuse",
    "unknown_model",
]

PREFIX = "pnyx/"
"""Of the names of models; a request can leave it out."""
INSTRUCTING = ("system", "developer")
"""Roles of turns that are instructions."""
MEDIA = "left out here: an image, a sound or a file, which the panel cannot read"


class RefusedError(UsageError):
    """A request that cannot be served. param: the field of the request, code: the error's, for the error."""

    def __init__(self, message: str, param: str, status: int = 400, code: str = "") -> None:
        super().__init__(message)
        self.param, self.status = param, status
        self.code = code or ("usage_error" if status == 400 else "")


def refuse(param: str, message: str) -> RefusedError:
    """An error that names the field of the request that causes it."""
    return RefusedError(f"{param}: {message}", param)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said. role: user, assistant or tool. media: whether parts of it cannot be given.

    aside: whether the client itself added it to the results of tools, so that it is no question. files: its
    images and documents.
    """

    role: str
    text: str
    media: bool = False
    aside: bool = False
    files: tuple[Source, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A request, whatever its API.

    instructions: of the owner of the key (system and developer messages), in order. turns: the last one of
    the user is the question; the others are material. max_tokens, stop: end the answer. schema: the JSON
    schema of the answer. tools: of the client, None without any. more: options of the run by name, as for
    /v1/runs, and `footer`. name_of_turns: the request's name for `turns`, for errors.
    """

    model: str
    turns: Sequence[Turn]
    instructions: Sequence[str] = ()
    max_tokens: int | None = None
    stop: Sequence[str] = ()
    seed: int | None = None
    effort: str | None = None
    thinking_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    tools: Tools | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    name_of_turns: str = "messages"

    @property
    def footer(self) -> bool:
        """Whether the answer ends with a line about agreement and cost: `{"pnyx": {"footer": false}}`."""
        value = self.more.get("footer", self.schema is None and not (self.tools and self.tools.tools))
        if not isinstance(value, bool):
            raise refuse("pnyx.footer", f"must be true or false, not {json.dumps(value)[:40]}")
        return value

    def named(self, served: Mapping[str, ServedModel]) -> Conversation:
        """The conversation with the footer as the settings have it for the name of its model."""
        one = served.get(self.model)
        if one is None or one.footer is None:
            return self
        return replace(self, more={"footer": one.footer, **self.more})

    def salt(self, key: bytes, owner: str) -> str:
        """The salt of its runs, the same as long as it only grows, so that prompts share a prefix.

        key: the server's secret.
        """
        tools = self.tools.options if self.tools else {}
        first = self.turns[0].text if self.turns else ""
        begun = json.dumps([owner, self.model, [*self.instructions], tools, first], sort_keys=True)
        return hmac.new(key, begun.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]

    @property
    def has_earlier_files(self) -> bool:
        """Whether turns beside the question have images or documents."""
        last = self._last_question()
        return any(turn.files for n, turn in enumerate(self.turns) if n != last)

    def to_request(
        self,
        served: Mapping[str, ServedModel],
        panels: Collection[str] = (),
        *,
        usual: str = "",
        earlier_files: bool = False,
    ) -> RunRequest:
        """Return the request of a run. served: the settings' own names of models. panels: of saved panels.

        usual: the protocol of the settings, for errors. earlier_files: with the images and documents of other
        turns than the question. Raises `UsageError` with what is wrong, `NotFound` for a name without a
        panel.
        """
        question, material, files = self._split(earlier_files)
        named = _model(self.model, served, panels, usual)
        fields: dict[str, Any] = {
            "seed": self.seed,
            "effort": self.effort,
            "thinking_tokens": self.thinking_tokens,
            "answer_schema": self.schema,
        }
        more = {name: value for name, value in self.more.items() if name != "footer"}
        fields |= self.tools.options if self.tools else {}
        body = {**named, **{name: value for name, value in fields.items() if value is not None}, **more}
        # `RunBody` reports options and instructions of another type.
        if isinstance(options := more.get("options"), Mapping):
            body["options"] = {**named.get("options", {}), **options}
        if self.instructions and isinstance(further := body.get("instructions", ""), str):
            body["instructions"] = "\n\n".join((*self.instructions, *filter(None, (further,))))
        request = RunBody.parse({**body, "question": question}).to_request()
        return replace(request, context=material, files=(*request.files, *files))

    def _last_question(self) -> int:
        """The place of the question among the turns. Raises `UsageError` if there is none."""
        questions = [n for n, turn in enumerate(self.turns) if turn.role == "user" and not turn.aside]
        if not questions or self.turns[-1].role == "assistant":
            raise refuse(self.name_of_turns, "the last message is the question, so its role must be user")
        return questions[-1]

    def _split(self, earlier_files: bool) -> tuple[str, tuple[Material, ...], tuple[Source, ...]]:
        """Return the question, all other turns as material, in their order, and the files of both."""
        last = self._last_question()
        if self.turns[last].media:
            raise refuse(self.name_of_turns, "the panel reads texts, images and documents, not this part")
        files: list[Source] = []
        with_files = (earlier_files or n == last for n in range(len(self.turns)))
        texts = [_shown(turn, files, yes) for turn, yes in zip(self.turns, with_files, strict=True)]
        if not texts[last].strip():
            raise refuse(self.name_of_turns, "the last message of the user is empty")
        if any("\0" in text for text in texts):
            raise refuse(self.name_of_turns, "a message is not text: it contains NUL")
        material = [
            Material(f"{'Earlier' if n < last else 'Since then'}, {turn.role}", texts[n])
            for n, turn in enumerate(self.turns)
            if n != last and texts[n].strip()
        ]
        return texts[last], tuple(material), tuple(files)


def joined(parts: Iterable[str]) -> str:
    """The texts of the parts of a message as one."""
    return "\n".join(part for part in parts if part)


def _shown(turn: Turn, files: list[Source], with_files: bool) -> str:
    """The text of a turn, with the names of its files, which are added to `files` if it is with them."""
    names = [_add(files, one) for one in turn.files] if with_files else []
    left_out = turn.media or (turn.files and not with_files)
    return joined((turn.text, *(f"[{name}]" for name in names), f"[{MEDIA}]" if left_out else ""))


def _add(files: list[Source], file: Source) -> str:
    """Add a file and return its name: its own, or the number of the image or file."""
    same = sum(_is_image(one) == _is_image(file) for one in files)
    name = file.name or f"{'image' if _is_image(file) else 'file'} {same + 1}"
    files.append(replace(file, name=name))
    return name


def _is_image(file: Source) -> bool:
    return file.media_type.startswith("image/")


def unknown_model(name: str, names: Collection[str], usual: str) -> str:
    """What is wrong with a name that no model has, and which one of `names` to send: the most similar one,
    or else that of the protocol `usual`, if it is one of them.
    """
    bare = {one.removeprefix(PREFIX): one for one in names}
    meant = closest(name.lower().removeprefix(PREFIX), bare)
    if meant is not None:
        return f"no model {name[:100]!r}; did you mean {bare[meant]}? GET /v1/models lists them"
    hint = f"send {PREFIX}{usual}; " if PREFIX + usual in names else ""
    return f"no model {name[:100]!r}; {hint}GET /v1/models lists them"


def _model(
    name: str, served: Mapping[str, ServedModel], panels: Collection[str], usual: str
) -> dict[str, Any]:
    """The options of a run by the name of its model: an alias, a protocol, or a saved panel."""
    if one := served.get(name):
        fields = {"protocol": one.protocol, "models": one.panel, "preset": one.preset, "effort": one.effort}
        return {**{k: v for k, v in fields.items() if v}, "options": dict(one.options)}
    bare = name.removeprefix(PREFIX)
    if bare in panels and bare not in protocols.names():
        return {"panel": bare}
    if bare.partition(":")[0] not in protocols.names():
        names = (*served, *(f"{PREFIX}{one}" for one in (*protocols.names(), *panels)))
        raise NotFound(
            f"{unknown_model(name, names, usual)}, and the table "
            f"[serve.models.{json.dumps(name[:100])}] in the server's settings adds this one"
        )
    try:
        arm = parse_arm(bare)
    except UsageError as exc:
        raise RefusedError(str(exc), "model") from exc
    preset = {"preset": arm.options[PRESET]} if PRESET in arm.options else {}
    options = {key: value for key, value in arm.options.items() if key != PRESET}
    return {"protocol": arm.protocol, **preset, "options": options}
