"""The states of the page, each reached as a person would: for screenshots and for checks of every one."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from playwright.sync_api import Page, Route, expect

from tests.evaluate.logs import log, random_letters
from tests.interfaces.council_runs import member
from tests.interfaces.page.texts import FLAW, FORMULAS, OTHER, PROPOSAL, QUESTION, SHORT, WRITTEN_SO_FAR
from tests.support.browsing import Serve, Tab
from tests.support.script import Request
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT

__all__ = ["STATES", "Scene", "at_a_glance", "problems"]

SHARES = {"lab:alpha": 0.75, "lab:beta": 0.65, "lab:gamma": 0.6}
"""Model -> how often it is right in the evaluations that are shown."""
EVALUATIONS = ("eval-0000000a", "eval-0000000b")
WRITTEN = 1_795_251_600
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`)"""
TERMINAL = re.compile(
    r"\bpnyx (?!serve_)[a-z]+|\bmake [a-z]+|Traceback|\w+Error\b|\w+Exception\b|Errno|ssl:default"
)


FIXED = ", ".join(
    f"{field}:not([dir=auto], [readonly], [role=combobox])"
    for field in ("textarea", "input:not([type])", "input[type=search]")
)
"""Fields for words of a person that do not follow the direction of what is typed."""


def problems(tab: Tab) -> list[str]:
    """What is wrong with the state that a tab shows: rules of axe, commands, width, headings."""
    tab.page.evaluate(AXE.read_text("utf-8"))
    found: list[str] = tab.page.evaluate(VIOLATIONS)
    if tab.scrolls_sideways():
        found.append("it scrolls sideways")
    found += [f"a text from right to left does not fit: {one}" for one in tab.page.locator(FIXED).all()]
    found += [f"a command: {one}" for one in TERMINAL.findall(tab.page.locator("main").inner_text())]
    if (headings := tab.page.locator("h1").count()) != 1:
        found.append(f"{headings} headings of level 1")
    return found


@dataclass
class Scene:
    """A signed-in tab on a server whose models are scripted."""

    tab: Tab
    server: Serve
    host: ScriptedHost

    @property
    def page(self) -> Page:
        return self.tab.page

    def panel(self) -> None:
        """The models answer: two say no, one says yes."""
        first = len(self.host.requests("alpha")) + 1
        self.host.on("alpha", text=lambda r: PROPOSAL.format(n="four" if r.call == first else "five"))
        self.host.on("beta", text=FLAW)
        self.host.on("gamma", text=OTHER)

    def ask(self, protocol: str, question: str = QUESTION) -> str:
        self.page.goto(f"{self.server.url}/#/")
        return self.tab.ask(question, protocol)

    def decided(self, protocol: str, question: str = QUESTION) -> str:
        run = self.ask(protocol, question)
        expect(self.tab.verdict).to_be_visible()
        expect(self.page.locator(".glance")).to_be_visible()
        return run

    def label(self, run: str, **labels: object) -> None:
        """Give a run its title, tags or pin."""
        headers = {"Authorization": f"Bearer {self.server.key}", "Content-Type": "application/json"}
        address = f"{self.server.url}/v1/runs/{run}"
        assert self.page.request.patch(address, data=json.dumps(labels), headers=headers).ok

    def block(self, pattern: str) -> None:
        """Let requests of the page to these addresses fail."""
        self.tab.expected += ["net::ERR_", "status of"]
        self.page.route(pattern, lambda route: route.abort())


def signin(scene: Scene) -> None:
    scene.page.evaluate("sessionStorage.clear()")
    scene.page.goto("about:blank")
    scene.page.goto(scene.server.url)
    scene.page.get_by_label("Your key").wait_for()


def key_refused(scene: Scene) -> None:
    signin(scene)
    scene.tab.expected.append("status of 401")
    scene.page.get_by_label("Your key").fill("pnyx_wrong")
    scene.page.get_by_label("Your key").press("Enter")
    scene.page.get_by_role("alert").wait_for()


def ask(scene: Scene) -> None:
    scene.page.goto(f"{scene.server.url}/#/")
    scene.tab.question.fill(QUESTION)
    scene.page.locator(".estimate", has_text="call").wait_for()


def ask_options(scene: Scene) -> None:
    ask(scene)
    scene.page.get_by_text("Limits and options").click()


def ask_without_models(scene: Scene) -> None:
    def empty(route: Route) -> None:
        settings = route.fetch().json()
        missing = (
            "no API key is set, and no model is on this machine. Set a key, such as: "
            "export OPENAI_API_KEY=YOUR_KEY; or fetch a small model: pnyx models pull qwen2.5-coder-0.5b"
        )
        settings |= {"seats": [], "models": [], "catalogue": [], "missing": missing}
        route.fulfill(body=json.dumps(settings), content_type="application/json")

    scene.page.route("**/v1/settings", empty)
    scene.page.goto(f"{scene.server.url}/#/")
    scene.page.reload()
    scene.page.get_by_text("No model is ready").wait_for()


def ask_refused(scene: Scene) -> None:
    ask(scene)
    scene.block("**/v1/runs")
    scene.page.get_by_role("button", name="Ask the panel").click()
    scene.page.get_by_role("alert").wait_for()


def runs_empty(scene: Scene) -> None:
    scene.page.goto(f"{scene.server.url}/#/runs")
    scene.page.get_by_label("Search questions and answers").fill("nothing has these words xyzzy")
    scene.page.get_by_text("No run matches").wait_for()


def runs(scene: Scene) -> None:
    scene.panel()
    scene.decided("voting")
    scene.page.goto(f"{scene.server.url}/#/runs")
    scene.page.locator(".run-row").first.wait_for()


def live(scene: Scene) -> None:
    """Both challengers stop in the middle of their replies, so that every picture has the same words."""
    scene.panel()
    scene.host.on("beta", text=FLAW, drip=(5600, 15), hurry=_once())
    scene.host.on("gamma", text=OTHER, drip=(6800, 15), hurry=_once())
    scene.ask("consensus")
    for words in WRITTEN_SO_FAR:
        scene.page.locator(".turn.writing", has_text=words).wait_for()


def _once() -> Callable[[], bool]:
    """True only the first time: the head of a reply and its first piece go out together."""
    first = iter((True,))
    return lambda: next(first, False)


def consensus(scene: Scene) -> None:
    scene.panel()
    scene.decided("consensus")


def at_a_glance(scene: Scene) -> None:
    """A short debate, as who has the link to it sees it."""
    first = len(scene.host.requests("alpha")) + 1
    scene.host.on("alpha", text=lambda request: SHORT["alpha" if request.call == first else "revised"])
    for model in ("beta", "gamma"):
        scene.host.on(model, text=SHORT[model])
    scene.decided("consensus")
    scene.page.goto(share_link(scene))
    scene.page.get_by_text("This link shows one run").wait_for()
    expect(scene.page.locator(".glance")).to_be_visible()


def revision(scene: Scene) -> None:
    consensus(scene)
    scene.page.get_by_role("button", name="Changes since propose").click()
    scene.page.locator(".diff").scroll_into_view_if_needed()


def council(scene: Scene) -> None:
    def reply(request: Request) -> str:
        text = member(request)
        if text.endswith(" draft."):
            return f"{text}\n\n{PROPOSAL.format(n='four' if 'first' in text else 'five')}"
        return text

    scene.host.on("*", text=reply)
    scene.decided("council")
    scene.page.get_by_text("Cost, tokens and time").click()


def tie(scene: Scene) -> None:
    for model, answer in (("alpha", "no"), ("beta", "yes"), ("gamma", "it depends")):
        scene.host.on(
            model, text=f"I have weighed it, and this is what the numbers say.\n\nFinal answer: {answer}"
        )
    scene.decided("deliberate")


def formulas(scene: Scene) -> None:
    scene.host.on("*", text=FORMULAS)
    scene.decided("single", "How much do three votes help?")
    scene.page.locator(".katex-display").first.wait_for()


def degraded(scene: Scene) -> None:
    scene.panel()
    scene.host.on("gamma", status=400, message="the model is overloaded")
    scene.decided("voting")


def failed(scene: Scene) -> None:
    scene.host.on("*", status=401, message="this key has been revoked")
    scene.ask("voting")
    scene.page.get_by_role("heading", name="Failed").wait_for()


def paused(scene: Scene) -> None:
    scene.panel()
    scene.page.goto(f"{scene.server.url}/#/")
    scene.page.get_by_text("Limits and options").click()
    scene.page.get_by_label("Budget").fill("0.0045")
    scene.tab.ask(QUESTION, "consensus")
    scene.page.get_by_role("heading", name="Paused").wait_for()


def cancelled(scene: Scene) -> None:
    live(scene)
    scene.page.get_by_role("button", name="Cancel").click()
    scene.page.get_by_role("heading", name="Cancelled").wait_for()


def connection_lost(scene: Scene) -> None:
    """The stream of a run ends in its middle, and the server does not answer again."""
    scene.panel()
    run = scene.decided("consensus")
    whole = scene.server.raw(f"/v1/runs/{run}/events").decode()
    half = whole[: whole.rindex("event: call_finished")]
    scene.block(f"**/v1/runs/{run}/**")
    scene.page.route(
        "**/events?*",
        lambda route: route.fulfill(body=half, content_type="text/event-stream"),
        times=1,
    )
    scene.page.reload()
    scene.page.get_by_text("Reconnecting").wait_for()


def server_gone(scene: Scene) -> None:
    scene.block("**/v1/**")
    scene.page.reload()
    scene.page.get_by_role("alert").wait_for()


def compare(scene: Scene) -> None:
    scene.panel()
    runs = [scene.decided(protocol) for protocol in ("voting", "consensus")]
    scene.page.goto(f"{scene.server.url}/#/compare/{','.join(runs)}")
    scene.page.locator(".side").wait_for()


def further_question(scene: Scene) -> None:
    scene.panel()
    scene.decided("voting")
    scene.page.get_by_label("Ask a further question").fill("And with five people?")
    scene.page.get_by_role("button", name="Ask", exact=True).click()
    scene.page.get_by_role("navigation", name="Turns of this conversation").wait_for()
    expect(scene.tab.verdict).to_be_visible()


def costs(scene: Scene) -> None:
    runs(scene)
    scene.page.get_by_role("link", name="Costs").click()
    scene.page.locator(".bars").wait_for()


def calibration(scene: Scene) -> None:
    scene.panel()
    scene.decided("voting")
    scene.page.get_by_role("button", name="Right", exact=True).click()
    scene.page.get_by_text("Saved: right").wait_for()
    scene.page.get_by_role("link", name="Calibration").click()
    scene.page.locator(".diagram").first.wait_for()


def evaluations(scene: Scene) -> None:
    """Two that were made up: 40 questions, three models, two protocols; the second with a better council."""
    for at, council in enumerate((0.75, 0.95)):
        rng = random.Random(4)
        letters = {name: random_letters(share, 40, rng) for name, share in SHARES.items()}
        protocols = {"voting": random_letters(0.8, 40, rng), "council": random_letters(council, 40, rng)}
        made = log(letters, protocols, started=f"2026-11-2{at}T09:00:00Z", planned=40)
        folder = scene.server.evaluations / EVALUATIONS[at]
        folder.mkdir(parents=True, exist_ok=True)
        replace(made, dataset="/data/capitals.jsonl").write(folder / "log.jsonl")
        os.utime(folder / "log.jsonl", (WRITTEN + 86_400 * at, WRITTEN + 86_400 * at))
    scene.page.goto(f"{scene.server.url}/#/evaluation")
    scene.page.get_by_role("group", name="Stored evaluations").wait_for()


def evaluation(scene: Scene) -> None:
    evaluations(scene)
    scene.page.get_by_role("link", name="capitals.jsonl").first.click()
    scene.page.locator(".accuracies").wait_for()


def evaluations_compared(scene: Scene) -> None:
    evaluations(scene)
    for name in EVALUATIONS:
        scene.page.get_by_label(f"mark {name}").check()
    scene.page.get_by_role("button", name="Compare two").click()
    scene.page.get_by_role("group", name="Two evaluations by arm").wait_for()


def run_labels(scene: Scene) -> None:
    scene.panel()
    run = scene.decided("voting")
    scene.label(run, title="PostgreSQL: managed or our own", tags=["infrastructure", "2026"], pinned=True)
    scene.page.reload()
    scene.page.get_by_role("button", name="Title and tags").click()
    scene.page.get_by_label("Tags, separated by commas").wait_for()


def runs_marked(scene: Scene) -> None:
    run_labels(scene)
    runs(scene)
    scene.page.get_by_role("checkbox", name="mark run").first.check()
    scene.page.get_by_role("group", name="Marked runs").wait_for()


def share(scene: Scene) -> str:
    scene.panel()
    scene.decided("voting")
    return share_link(scene)


def share_link(scene: Scene) -> str:
    """Make a link to the run that is shown, and return its address."""
    scene.page.get_by_role("button", name="Share", exact=True).click()
    scene.page.get_by_role("button", name="Make a link").click()
    link = scene.page.get_by_label("The new link, shown only now")
    link.wait_for()
    scene.page.get_by_role("button", name="Revoke").first.wait_for()
    return link.input_value()


def shared(scene: Scene) -> None:
    scene.page.goto(share(scene))
    scene.page.get_by_text("This link shows one run").wait_for()
    expect(scene.page.locator(".glance")).to_be_visible()


def link_ended(scene: Scene) -> None:
    scene.tab.expected.append("status of 401")
    scene.page.goto(f"{scene.server.url}/#/shared/pnyx_share_0")
    scene.page.get_by_role("alert").wait_for()


def model_list(scene: Scene) -> None:
    ask(scene)
    scene.page.get_by_label("Add a model").fill("a")
    scene.page.get_by_role("listbox", name="Models").wait_for()


def missing(scene: Scene) -> None:
    scene.tab.expected.append("status of 404")
    scene.page.goto(f"{scene.server.url}/#/runs/nothing")
    scene.page.get_by_role("alert").wait_for()


STATES: dict[str, Callable[[Scene], object]] = {
    state.__name__.replace("_", "-"): state
    for state in (
        *(signin, key_refused, ask, ask_options, ask_without_models, ask_refused),
        *(live, consensus, revision, council, tie, formulas),
        *(degraded, failed, paused, cancelled, connection_lost, server_gone, missing),
        *(runs_empty, runs, runs_marked, compare, further_question, costs, calibration, model_list),
        *(share, shared, link_ended, run_labels, evaluations, evaluation, evaluations_compared),
    )
}
