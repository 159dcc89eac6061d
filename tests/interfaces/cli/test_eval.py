"""`pnyx eval` on scripted models of known skill: calls, cost, resuming, errors."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pnyx.config.paths import data_dir
from tests.faults.trial import interrupt
from tests.interfaces.shell import Done, pnyx, spawn
from tests.support.forked import Process, start
from tests.support.scripted import Request, ScriptedHost
from tests.support.votes import judgement, votes_in

N = 12
WRONG: dict[str, Callable[[int], bool]] = {
    "alpha": lambda n: n % 4 == 0,
    "beta": lambda n: n % 4 == 1,
    "gamma": lambda n: n % 4 == 2 or n % 5 == 0,
}
"""Whether a model answers question n wrong; two models answer most questions right."""
FEW = 4
ARMS = ("-m", "lab:alpha", "-m", "lab:beta", "-m", "lab:gamma", "--arm", "voting")


def reply(request: Request) -> str:
    """A reply as skilled as the model; as a judge, the first answer of the prompt."""
    if votes := votes_in(request.text):
        return judgement(votes, next(iter(votes.values())))
    case = re.search(r"Case (\d+)", request.text)
    assert case, request.text
    n = int(case[1])
    return f"Final answer: {n + 5 - WRONG[request.model](n)}"


@pytest.fixture(scope="session")
def loaded() -> None:
    """Inspect in the server that forks processes, which takes some seconds."""
    assert ended(spawn("eval", "--help")).code == 0


@pytest.fixture
def skilled(lab: ScriptedHost, tmp_path: Path, loaded: None) -> ScriptedHost:
    lab.on("*", text=reply)
    rows = [
        {"question": f"Case {n}: what is {n} + 5?", "target": n + 5, "category": "even" if n % 2 else "odd"}
        for n in range(N)
    ]
    (tmp_path / "sums.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return lab


def begin(*args: str) -> Process:
    return spawn("eval", *args)


def ended(process: Process) -> Done:
    out, err = process.communicate(timeout=120)
    return Done(process.wait(), out.decode(), err.decode())


def run(*args: str) -> Done:
    """Run the command in a new process, because Inspect leaves event loops and sockets open."""
    return ended(begin(*args))


def measure(*more: str) -> Done:
    return run("sums.jsonl", *ARMS, "--json", "-q", *more)


def measure_few(*more: str) -> Done:
    """On the first `FEW` questions: a question costs about a tenth of a second."""
    return measure("--limit", str(FEW), *more)


def wait_for(host: ScriptedHost, requests: int) -> None:
    deadline = time.monotonic() + 60
    while len(host.log) < requests:
        assert time.monotonic() < deadline, f"{len(host.log)} of {requests} requests"
        time.sleep(0.01)


def accuracy(model: str, questions: int = N) -> float:
    return sum(not WRONG[model](n) for n in range(questions)) / questions


def by_name(report: Any) -> dict[str, Any]:
    return {arm["name"]: arm for arm in report["arms"]}


def asked(host: ScriptedHost) -> Counter[str]:
    return Counter(request.model for request in host.log)


def test_models_are_called_once_and_every_arm_reuses_their_answers(skilled: ScriptedHost) -> None:
    done = measure("--no-self-consistency")
    assert done.code == 0, done.err
    arms = by_name(done.json)
    for model in WRONG:
        assert arms[f"lab:{model}"]["accuracy"]["mean"] == pytest.approx(accuracy(model))
    assert arms["majority"]["accuracy"]["mean"] > accuracy("alpha")
    assert arms["oracle"]["accuracy"]["mean"] >= arms["majority"]["accuracy"]["mean"]
    # Voting reuses the pool's answers: its only call per question is to the judge, the strongest model.
    assert asked(skilled) == {"alpha": 2 * N, "beta": N, "gamma": N}


def test_a_baseline_is_compared_with_and_joins_no_panel(skilled: ScriptedHost) -> None:
    panel = ("-m", "lab:alpha", "-m", "lab:beta", "--arm", "voting", "--baseline", "lab:gamma")
    done = run("sums.jsonl", *panel, "--json", "-q", "--no-self-consistency", "--log", "log.jsonl")
    assert done.code == 0, done.err
    assert done.json["models"] == ["lab:alpha", "lab:beta"]
    arms = by_name(done.json)
    assert arms["lab:gamma"]["accuracy"]["mean"] == pytest.approx(accuracy("gamma"))
    against = {pair["arm"] for pair in done.json["pairs"] if pair["to"] == "lab:gamma"}
    assert {"voting", "majority"} <= against
    # Neither the best single model nor the oracle knows its answers.
    best = max(accuracy("alpha"), accuracy("beta"))
    assert arms["best single"]["accuracy"]["mean"] <= best
    votes = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()[1:]]
    assert all("lab:gamma" not in json.dumps(row["detail"]) for row in votes if row["arm"] == "voting")
    both = pnyx("eval", "sums.jsonl", *ARMS, "--baseline", "lab:gamma")
    assert (both.code, "lab:gamma is on the panel" in both.err) == (2, True)


def test_self_consistency_costs_as_much_as_the_panel(skilled: ScriptedHost) -> None:
    done = measure_few("--log", "log.jsonl")
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()[1:]]
    cost = Counter[str]()
    for row in rows:
        cost[row["arm"]] += row["cost_usd"]
    panel = sum(cost[f"lab:{model}"] for model in WRONG)
    sampled = Counter(row["detail"]["model"] for row in rows if row["arm"] == "self-consistency")
    assert sum(sampled.values()) == FEW
    dearest = max(cost[model] for model in sampled)
    assert abs(cost["self-consistency"] - panel) <= dearest
    # The cost of voting includes the answers that it reused.
    assert cost["voting"] > panel


def test_the_same_command_again_sends_nothing_and_reports_the_same(skilled: ScriptedHost) -> None:
    first = measure_few().json
    sent = len(skilled.log)
    assert measure_few().json["arms"] == first["arms"]
    assert len(skilled.log) == sent


def test_another_arm_reuses_the_pool(skilled: ScriptedHost) -> None:
    measure_few("--no-self-consistency")
    before = asked(skilled)
    assert measure_few("--no-self-consistency", "--arm", "deliberate:quick").code == 0
    natives = [request for request in skilled.log[sum(before.values()) :] if "Step" in request.text]
    assert natives == []


def test_a_killed_evaluation_continues_and_pays_twice_only_for_calls_in_flight(skilled: ScriptedHost) -> None:
    skilled.replies = 6
    process = begin("sums.jsonl", *ARMS, "--concurrency", "2", "--limit", str(FEW), "-q")
    wait_for(skilled, 6)
    process.kill()
    ended(process)
    assert 6 <= len(skilled.log) < 3 * FEW
    skilled.replies = None
    done = measure_few("--no-self-consistency")
    assert done.code == 0, done.err
    assert len(skilled.log) <= 4 * FEW + 2
    assert by_name(done.json)["lab:alpha"]["n"] == FEW


def test_a_budget_stops_the_evaluation_and_a_larger_one_continues_it(skilled: ScriptedHost) -> None:
    done = measure_few("--budget", "0.002", "--no-self-consistency")
    assert done.code == 4
    assert "Run the same command again with --budget 0.02" in done.err
    assert "pnyx resume" not in done.err
    assert 0 < len(skilled.log) < 4 * FEW
    sent = len(skilled.log)
    done = measure_few("--budget", "10", "--no-self-consistency")
    assert done.code == 0, done.err
    assert len(skilled.log) == 4 * FEW
    assert sent < 4 * FEW


def test_ctrl_c_stops_the_evaluation_and_calls_in_flight_finish(skilled: ScriptedHost) -> None:
    skilled.replies = 9
    process = begin("sums.jsonl", *ARMS, "--concurrency", "2")
    wait_for(skilled, 10)
    interrupt(process)
    skilled.replies = None
    done = ended(process)
    assert done.code == 130
    assert "interrupted. Run the same command again to continue" in done.err
    assert all(request.completed for request in skilled.log)


def test_a_replay_makes_the_same_report_and_calls_no_model(skilled: ScriptedHost, tmp_path: Path) -> None:
    first = measure_few("--log", "log.jsonl", "--html", "report.html")
    (stored,) = (data_dir() / "eval").glob("*/log.jsonl")
    assert stored.read_text() == Path("log.jsonl").read_text()
    sent = len(skilled.log)
    again = pnyx("eval", "--replay", "log.jsonl", "--json")
    assert again.json == first.json
    assert len(skilled.log) == sent
    assert "<svg" in (tmp_path / "report.html").read_text()
    plain = pnyx("eval", "--replay", "log.jsonl")
    assert plain.code == 0
    assert "self-consistency" in plain.out
    assert max(map(len, plain.out.splitlines())) <= 110


def test_nothing_is_learned_where_an_evaluation_is_asked_not_to(skilled: ScriptedHost) -> None:
    measure("--no-learn", "--limit", "2")
    assert pnyx("calibration", "--json").json["n"] == 0


def test_later_runs_learn_from_the_grades_and_the_arms_do_not(skilled: ScriptedHost) -> None:
    measure_few("--no-self-consistency")
    document = pnyx("calibration", "--json").json
    assert document["models"]["accuracies"].keys() == {"lab:alpha", "lab:beta", "lab:gamma"}
    assert document["protocols"]["voting"]["n"] == FEW
    later = pnyx("ask", "Case 40: what is 40 + 5?", "-p", "voting", "--json", "-q").json
    assert later["detail"]["history"]["n"] == FEW
    measure("--seed", "1", "--limit", "1", "--no-self-consistency", "--log", "log.jsonl")
    runs = [json.loads(line)["run_id"] for line in Path("log.jsonl").read_text().splitlines()[1:]]
    assert "history" not in pnyx("export", runs[-1], "--format", "json").json["result"]["detail"]


def test_failures_are_reported_and_tried_again_next_time(skilled: ScriptedHost) -> None:
    skilled.on("gamma", status=400, message="not today")
    done = measure_few("--no-self-consistency")
    assert done.code == 5, done.err
    arm = by_name(done.json)["lab:gamma"]
    assert (arm["errors"], arm["accuracy"]["mean"]) == (FEW, 0.0)
    skilled.on("gamma", text=reply)
    done = measure_few("--no-self-consistency")
    assert done.code == 0, done.err
    assert by_name(done.json)["lab:gamma"]["accuracy"]["mean"] == pytest.approx(accuracy("gamma", FEW))


def test_a_model_that_recovers_makes_no_question_count_twice(skilled: ScriptedHost) -> None:
    """Neither in the pool, recorded under the first model that answered, nor in its decisions."""
    skilled.on("alpha", status=400, message="not today")
    assert measure_few("--no-self-consistency").code == 5
    skilled.on("alpha", text=reply)
    assert measure_few("--no-self-consistency").code == 0
    document = pnyx("calibration", "--json").json
    assert (document["models"]["n"], document["protocols"]["voting"]["n"]) == (FEW, FEW)
    assert document["models"]["accuracies"].keys() == {"lab:alpha", "lab:beta", "lab:gamma"}


def test_free_text_is_graded_by_a_judge_that_sees_both_orders(skilled: ScriptedHost, tmp_path: Path) -> None:
    def judge(request: Request) -> str:
        if "First answer" not in request.text:
            return "It is because warm air rises." if request.model != "gamma" else "Unclear."
        return f"Final answer: {'no' if 'Unclear' in request.text else 'yes'}"

    skilled.on("*", text=judge)
    row = {"question": "Why does smoke go up?", "target": "Hot gas is lighter.", "grader": "judge"}
    rows = [row | {"id": n, "question": f"{row['question']} ({n})"} for n in range(4)]
    (tmp_path / "why.jsonl").write_text("\n".join(map(json.dumps, rows)))
    done = run("why.jsonl", *ARMS, "--no-self-consistency", "--json", "-q")
    assert done.code == 0, done.err
    arms = by_name(done.json)
    assert [arms[f"lab:{m}"]["accuracy"]["mean"] for m in WRONG] == [1.0, 1.0, 0.0]
    orders = [
        r.text.index("Hot gas") < r.text.index("warm air")
        for r in skilled.log
        if "warm air" in r.text and "Hot gas" in r.text
    ]
    assert orders.count(True) == orders.count(False) > 0


def test_a_judge_that_depends_on_the_order_decides_nothing(skilled: ScriptedHost, tmp_path: Path) -> None:
    def judge(request: Request) -> str:
        if "First answer" not in request.text:
            return "It is because warm air rises."
        first = request.text.index("Hot gas") < request.text.index("warm air")
        return f"Final answer: {'yes' if first else 'no'}"

    skilled.on("*", text=judge)
    row = {"question": "Why does smoke go up?", "target": "Hot gas is lighter.", "grader": "judge"}
    (tmp_path / "why.jsonl").write_text(json.dumps(row))
    run("why.jsonl", *ARMS, "--no-self-consistency", "--log", "log.jsonl", "-q")
    rows = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()[1:]]
    assert {row["correct"] for row in rows} == {False}
    assert {row["detail"]["grade"] for row in rows} == {
        "the judge's verdict depends on the order of the answers"
    }


def test_an_inspect_task_uses_its_own_prompts_and_scorer(skilled: ScriptedHost, tmp_path: Path) -> None:
    (tmp_path / "cases.py").write_text(
        "from inspect_ai import Task, task\n"
        "from inspect_ai.dataset import Sample\n"
        "from inspect_ai.scorer import includes\n"
        "from inspect_ai.solver import generate, system_message\n"
        "@task\n"
        "def cases():\n"
        "    asked = {n: f'Case {n}: what is {n} + 5?' for n in range(6)}\n"
        "    samples = [Sample(input=asked[n], target=f'answer: {n + 5}') for n in asked]\n"
        "    return Task(samples, solver=[system_message('Be brief.'), generate()], scorer=includes())\n"
    )
    done = run("cases.py", *ARMS, "--no-self-consistency", "--json", "-q")
    assert done.code == 0, done.err
    arms = by_name(done.json)
    assert arms["lab:alpha"]["accuracy"]["mean"] == pytest.approx(4 / 6)
    assert arms["voting"]["n"] == 6
    assert asked(skilled) == {"alpha": 12, "beta": 6, "gamma": 6}


def test_inspect_can_use_a_panel_as_a_model_and_gets_its_usage(skilled: ScriptedHost, tmp_path: Path) -> None:
    command = ["eval", "pnyx/traps", "--model", "pnyx/voting", "-M", "panel=lab:alpha,lab:beta"]
    options = ["--limit", "2", "--display", "none", "--log-dir", "logs", "--log-format", "json"]
    skilled.on("*", text="Final answer: 5")
    done = ended(start(*command, *options, module="inspect_ai"))
    assert done.code == 0, done.err
    (log,) = [json.loads(path.read_text()) for path in (tmp_path / "logs").glob("*.json")]
    assert (log["status"], log["eval"]["model"]) == ("success", "pnyx/voting"), log["error"]
    usage = log["stats"]["model_usage"]["pnyx/voting"]
    billed = [request.usage for request in skilled.log if request.usage]
    assert usage["output_tokens"] == sum(one["output"] for one in billed)
    assert usage["input_tokens"] + usage["input_tokens_cache_read"] == sum(one["input"] for one in billed)
    assert len(skilled.log) == 2 * 3


def test_runs_of_evaluations_are_listed_only_with_evaluations(skilled: ScriptedHost) -> None:
    assert measure("--limit", "1", "--no-self-consistency").code == 0
    assert pnyx("runs").err == "no runs yet; those of evaluations: pnyx runs --evaluations\n"
    mine = pnyx("ask", "Case 1: what is 1 + 5?", "-p", "voting", "--json", "-q").json["run_id"]
    assert [run["run_id"] for run in pnyx("runs", "--json").json] == [mine]
    assert len(pnyx("runs", "--json", "--evaluations").json) == 5


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "pass one of DATASET, --replay FILE and --answers FILE"),
        (("sums.jsonl", "--replay", "x"), "pass one of DATASET"),
        (("--answers", "a.csv", "--html", "r.html", "--log", "l"), "--answers does not accept --log, --html"),
        (("--answers", "a.csv", "--arm", "voting"), "--answers does not accept --arm"),
        (("--replay", "x", *ARMS, "--limit", "2"), "--replay does not accept -m, --arm, --limit"),
        (("--replay", "x", "--dry-run", "--no-learn"), "--replay does not accept --learn, --dry-run"),
        (("--replay", "x", "--splits", "20"), "--replay does not accept --splits"),
        (("sums.jsonl", "--where", "a=b", "--labels", "2"), "models does not accept --where, --labels"),
        (("sums.jsonl", *ARMS, "--splits", "20"), "an evaluation of models does not accept --splits"),
        (("nothing.jsonl", *ARMS), "cannot read nothing.jsonl"),
        (
            ("nothing.json", *ARMS, "--dry-run"),
            "there is no file nothing.json; DATASET is a .csv or .jsonl file",
        ),
        (("no-such-task", *ARMS), "Inspect cannot run the task no-such-task"),
        (("sums.jsonl", "-m", "lab:alpha"), "two or more different models"),
        (("sums.jsonl", "-m", "lab:alpha*2"), "two or more different models"),
        (("sums.jsonl", *ARMS, "--arm", "votin"), "votin"),
        (("sums.jsonl", *ARMS, "--arm", "voting:fast"), "no preset 'fast'"),
        (("sums.jsonl", *ARMS, "--arm", "consensus:round=2"), "no option 'round'"),
        (("bad.jsonl", *ARMS), "bad.jsonl, line 2: the field target is missing"),
        (
            ("worse.jsonl", *ARMS),
            "worse.jsonl, line 1: question '1': its target 'z' is not one of",
        ),
        (("--replay", "sums.jsonl"), "sums.jsonl, line 1: not a line of an evaluation log"),
    ],
)
def test_usage_errors_of_an_evaluation_are_reported_before_any_call(
    skilled: ScriptedHost, tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"question": "a", "target": "b"}\n{"question": "c"}\n')
    (tmp_path / "worse.jsonl").write_text('{"question": "a", "target": "z", "choices": ["x", "y"]}\n')
    done = run(*args) if "no-such-task" in args else pnyx("eval", *args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert skilled.log == []


def test_an_empty_reply_counts_as_wrong_at_its_cost_and_is_not_tried_again(skilled: ScriptedHost) -> None:
    skilled.on("gamma", text=" ")
    done = measure("--no-self-consistency", "--limit", "4")
    assert done.code == 5, done.err
    arm = by_name(done.json)["lab:gamma"]
    assert (arm["errors"], arm["right"]) == (4, 0)
    assert arm["total_usd"] > 0
    sent = len(skilled.log)
    assert measure("--no-self-consistency", "--limit", "4").code == 5
    assert len(skilled.log) == sent
