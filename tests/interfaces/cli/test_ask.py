"""`pnyx ask`: the answer on stdout, everything else on stderr, and the exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.interfaces.conftest import KEY
from tests.interfaces.shell import Done, pnyx
from tests.support.scripted import ScriptedHost

CONTRACT = ["run_id", "status", "protocol", "question", "answer", "final_answer", "confidence"]
CONTRACT += ["confidence_rule", "rigor", "agreement", "consensus_reached", "dissent", "rounds", "converged"]
CONTRACT += ["stop_reason", "seats", "dropped", "degraded", "usage", "elapsed_s", "detail"]
ANSWER = "Because it is so.\nFinal answer: yes"
HOSTILE = "\x1b[2J\x1b]52;c;aGk=\x07\u202e[red]x[/] \ud800 \r gone\n" + ANSWER


@pytest.fixture
def answer(lab: ScriptedHost) -> Done:
    lab.on("*", text=ANSWER)
    return pnyx("ask", "Why?")


def test_the_answer_alone_is_on_stdout(answer: Done) -> None:
    assert (answer.code, answer.out) == (0, ANSWER + "\n")


def test_stderr_shows_proposal_challenges_revision_rigor_agreement_cost_and_the_run(answer: Done) -> None:
    titles = [line.split("  ")[0] for line in answer.err.splitlines() if line.startswith("Round")]
    assert [title.split(" · ")[1] for title in titles] == ["propose", "challenge", "challenge", "revise"]
    assert all("(lab:" in title for title in titles)
    for expected in (
        "Because it is so.",
        "3 of 3 seats agree, 3 of 3 models",
        "no objection stands",
        "rigor 0.00: 0 of 2 critiques were substantive",
        "confidence not calibrated",
        "4 calls",
    ):
        assert expected in answer.err
    run_id = answer.err.split("run ")[1].split(" ")[0]
    assert f"run {run_id} · pnyx show {run_id}" in answer.err
    assert pnyx("status", run_id[:6]).out.startswith(run_id)


def test_output_that_is_not_a_terminal_has_no_escape_sequences(answer: Done) -> None:
    assert "\x1b" not in answer.out + answer.err
    assert "\r" not in answer.out + answer.err


def test_quiet_prints_only_the_answer(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    assert pnyx("ask", "-q", "Why?") == Done(0, ANSWER + "\n", "")


def test_a_long_reply_is_cut_and_shown_in_full_with_verbose(lab: ScriptedHost) -> None:
    lab.on("*", text="\n".join(f"line {n}" for n in range(50)))
    assert "line 49" not in pnyx("ask", "Why?").err.split("decided")[0]
    assert "line 49" in pnyx("ask", "-v", "Why?").err.split("decided")[0]


def test_json_is_one_result_object_with_exactly_the_keys_of_the_contract(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER)
    done = pnyx("ask", "--json", "Why?")
    assert list(done.json) == CONTRACT
    assert done.json["final_answer"] == "yes"
    assert list(done.json["usage"]) == ["calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd"]


def test_jsonl_is_every_event_in_order_and_ends_with_run_finished(lab: ScriptedHost) -> None:
    done = pnyx("ask", "--jsonl", "Why?")
    assert [event["seq"] for event in done.lines] == list(range(1, len(done.lines) + 1))
    assert done.lines[0]["type"] == "run_started"
    assert [event["type"] for event in done.lines].count("run_finished") == 1
    assert done.lines[-1]["type"] == "run_finished"
    assert done.lines[-1]["result"] == pnyx("status", done.lines[0]["run_id"], "--json").json


def test_jsonl_has_tokens_only_when_verbose(lab: ScriptedHost) -> None:
    lab.on("*", text="three short words")
    assert "token" not in {event["type"] for event in pnyx("ask", "--jsonl", "Why?").lines}
    texts: dict[str, str] = {}
    for event in pnyx("ask", "--jsonl", "-v", "Why?").lines:
        if event["type"] == "token":  # calls in parallel: their tokens are interleaved
            texts[event["key"]] = texts.get(event["key"], "") + event["text"]
    assert list(texts.values()) == ["three short words"] * 4


def test_model_output_is_escaped_as_text_and_exact_as_json(lab: ScriptedHost) -> None:
    lab.on("*", text=HOSTILE)
    done = pnyx("ask", "-v", "Why?")
    assert not {"\x1b", "\x07", "\u202e", "\r", "\ud800"} & set(done.out + done.err)
    assert "[red]x[/]" in done.out
    assert pnyx("ask", "--json", "Why?").json["answer"] == HOSTILE


def test_a_dropped_seat_makes_the_answer_degraded(lab: ScriptedHost) -> None:
    lab.on("gamma", status=401, message="no \x1b[31mentry")
    done = pnyx("ask", "Why?")
    assert done.code == 5
    assert "dropped: Participant" in done.err
    assert "\x1b" not in done.err


def test_below_quorum_exits_3_without_an_answer(lab: ScriptedHost) -> None:
    lab.on("*", status=401)
    done = pnyx("ask", "Why?")
    assert (done.code, done.out) == (3, "")
    assert "pnyx: failed (no_quorum): " in done.err


def test_a_failed_run_still_prints_its_result_object(lab: ScriptedHost) -> None:
    lab.on("*", status=401)
    done = pnyx("ask", "--json", "Why?")
    assert (done.code, done.json["status"], done.json["stop_reason"]) == (3, "failed", "no_quorum")
    assert done.json["answer"] is None


def test_one_round_is_no_consensus_with_require_consensus(lab: ScriptedHost) -> None:
    assert pnyx("ask", "--require-consensus", "Why?").code == 3


def test_a_budget_pauses_with_exit_4_and_a_larger_one_resumes(lab: ScriptedHost) -> None:
    paused = pnyx("ask", "--budget", "0.003", "Why?")
    assert paused.code == 4
    run_id = paused.err.split("run ")[1].split(" ")[0]
    assert f"pnyx resume {run_id} --budget 0." in paused.err
    sent = len(lab.log)
    done = pnyx("resume", run_id, "--budget", "1")
    assert done.code == 0
    assert len(lab.log) == 4
    assert sent < 4


def test_resuming_a_finished_run_prints_it_again_and_sends_nothing(lab: ScriptedHost) -> None:
    first = pnyx("ask", "--json", "Why?")
    sent = len(lab.log)
    again = pnyx("resume", first.json["run_id"], "--json")
    assert (again.code, again.json) == (0, first.json)
    shown = pnyx("resume", first.json["run_id"])
    assert shown.out == first.json["answer"] + "\n"
    assert "Round 1" not in shown.err
    assert "the run had ended: nothing was sent, and nothing paid" in shown.err
    assert len(lab.log) == sent


def test_a_fork_is_a_new_run_that_reuses_the_replies(lab: ScriptedHost) -> None:
    first = pnyx("ask", "--json", "Why?").json
    fork = pnyx("resume", first["run_id"], "--fork", "--json").json
    assert fork["run_id"] != first["run_id"]
    assert fork["answer"] == first["answer"]
    assert len(lab.log) == 4


def test_the_question_is_read_from_stdin(lab: ScriptedHost) -> None:
    for args in (["-"], []):
        done = pnyx("ask", "--json", *args, stdin="\ufeffWas läuft?\n".encode())
        assert done.json["question"] == "Was läuft?"


def test_line_ends_around_a_question_are_stripped_and_those_inside_become_line_feeds(
    lab: ScriptedHost,
) -> None:
    done = pnyx("ask", "-", "--json", stdin=b"\xef\xbb\xbf\r\nWhy?\r\n\r\nOr why not?\r\n")
    assert done.json["question"] == "Why?\n\nOr why not?"


@pytest.mark.parametrize(
    ("stdin", "expected"), [(b"", "there is no question"), (b"\xff\xfe", "not UTF-8"), (b"a\0b", "NUL")]
)
def test_invalid_text_on_stdin_is_refused(lab: ScriptedHost, stdin: bytes, expected: str) -> None:
    done = pnyx("ask", stdin=stdin)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert not lab.log


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--frob"], "no option --frob"),
        (["--budget", "nan"], "'nan' is not a number above zero"),
        (["--deadline", "-1"], "'-1' is not a number above zero"),
        (["--budget", "1e10"], "'1e10' is more than 1,000,000,000"),
        (["--budget", "1e300"], "'1e300' is more than 1,000,000,000"),
        (["--stall-timeout", "1e10"], "'1e10' is more than 1,000,000,000"),
        (["--rounds", "0"], "0 is not between 1 and 1000 (see"),
        (["--option", "rounds"], "must have the form KEY=VALUE"),
        (["--option", "frob=1"], "consensus has no option 'frob'"),
        (["--option", "threshold=2"], "threshold must be between 0 and 1"),
        (["-p", "frob"], "no protocol 'frob'"),
        (["-m", "lab"], 'named "provider:model"'),
        (["-m", "frob:x*2"], "no provider 'frob'"),
        (["-m", "lab:alpha"], "or another protocol with -p: sample, single"),
        (["--role", "9=critic"], "no seat"),
        (["--json", "--jsonl"], "exclude each other"),
        (["-m", "lab:odd*3", "--budget", "1"], "price of lab:odd is unknown"),
    ],
)
def test_mistakes_are_one_line_with_exit_2_and_nothing_is_sent(
    lab: ScriptedHost, args: list[str], expected: str
) -> None:
    done = pnyx("ask", "Why?", *args)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("pnyx: ")
    assert done.err.count("\n") == 1
    assert expected in done.err
    assert not lab.log


def test_the_largest_amounts_are_accepted(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    dear = Path("lab.toml").read_text().replace("input_price = 1.0", "input_price = 1e6")
    Path("lab.toml").write_text(
        dear.replace("output_price = 4.0", "output_price = 1e6\nmax_output = 100000000")
    )
    for cap in ("RUN", "DAY", "KEY", "WARN"):
        monkeypatch.setenv(f"PNYX_BUDGET_{cap}_USD", "1e9")
    monkeypatch.setenv("PNYX_RUN_MAX_OUTPUT_TOKENS", "100000000")
    lab.on("*", text=ANSWER)
    command = ["ask", "Why?", "--json", "-m", "lab:alpha*2", "--budget", "1e9", "--deadline", "1e9"]
    done = pnyx(*command, "--stall-timeout", "1e9")
    assert (done.code, done.json["final_answer"]) == (0, "yes"), done.err


def test_an_unknown_price_may_be_allowed(lab: ScriptedHost) -> None:
    done = pnyx("ask", "Why?", "-m", "lab:odd*3", "--budget", "1", "--allow-unknown-price")
    assert done.code == 0
    said = "expected cost unknown: no price for lab:odd; set input_price and output_price in "
    cap = "calls without a price do not count against its budget of $1.00"
    assert f'{said}[models."lab:odd"]; {cap}' in done.err.splitlines()


def test_options_reach_the_run(lab: ScriptedHost) -> None:
    flags = ["-m", "lab:alpha*2", "-m", "lab:beta", "--rounds", "2", "--option", "challengers=1"]
    flags += ["--role", "1=Doubt everything.", "--seed", "7", "--deadline", "99", "--budget", "5"]
    started = pnyx("ask", "--jsonl", "Why?", *flags).lines[0]
    assert [seat["model"] for seat in started["seats"]] == ["lab:alpha", "lab:alpha", "lab:beta"]
    assert [seat["role"] for seat in started["seats"]] == ["Doubt everything.", None, None]
    assert started["options"] | {"rounds": 2, "challengers": 1} == started["options"]
    assert (started["seed"], started["deadline_s"], started["budget_usd"]) == (7, 99, 5)


def test_quick_and_deep_are_the_presets_of_the_protocol(lab: ScriptedHost) -> None:
    plans = {flag: pnyx("ask", "--dry-run", "--json", "Why?", flag).json for flag in ("--quick", "--deep")}
    assert plans["--quick"]["options"]["rounds"] == 1
    assert plans["--deep"]["options"]["rounds"] == 6
    both = pnyx("ask", "--dry-run", "Why?", "--quick", "--deep")
    assert (both.code, "--quick and --deep" in both.err) == (2, True)


def test_a_stall_timeout_gives_up_on_a_call_that_hangs(lab: ScriptedHost) -> None:
    lab.on("gamma", hang=True)
    for seconds in ("0.5", "5", "25"):  # on a busy machine the others take longer than the first
        done = pnyx("ask", "Why?", "--stall-timeout", seconds, "--json")
        if done.code == 5 and len(done.json["dropped"]) == 1:
            break
    assert done.code == 5
    (dropped,) = done.json["dropped"]
    # What was left of it when the request was sent.
    found = re.search(r"no answer within ([0-9.]+) s", dropped["reason"])
    assert found
    assert 0 <= float(found[1]) <= float(seconds)


def test_a_dry_run_prints_seats_calls_tokens_and_cost_and_stores_nothing(
    lab: ScriptedHost, home: Path
) -> None:
    done = pnyx("ask", "--dry-run", "Why?", "--rounds", "3")
    assert done.code == 0
    for expected in (
        "lab:alpha",
        "calls   8 to 12",
        "tokens  at most",
        "if no seat fails",
        "cost    about $",
        ", at most $",
    ):
        assert expected in done.out
    assert not lab.log
    assert not (home / ".local").exists()


def test_a_dry_run_with_jsonl_is_one_line(lab: ScriptedHost) -> None:
    command = ("ask", "--dry-run", "Why?", "--seed", "7")
    assert pnyx(*command, "--jsonl").lines == [pnyx(*command, "--json").json]


def test_the_bounds_of_a_dry_run_hold_for_the_run(lab: ScriptedHost) -> None:
    plan = pnyx("ask", "--dry-run", "--json", "Why?").json
    usage = pnyx("ask", "--json", "Why?").json["usage"]
    assert plan["calls"]["least"] <= usage["calls"] <= plan["calls"]["most"]
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        assert plan["at_most"][name] >= usage[name]
    assert 0 < plan["expected_usd"] < plan["at_most"]["cost_usd"]


def test_a_dry_run_of_unknown_price_says_unknown(lab: ScriptedHost) -> None:
    args = ["ask", "--dry-run", "Why?", "-m", "lab:odd*3"]
    why = 'no price for lab:odd; set input_price and output_price in [models."lab:odd"]'
    assert f"cost    unknown: {why}" in pnyx(*args).out
    unknown = pnyx(*args, "--json").json
    assert (unknown["at_most"]["cost_usd"], unknown["expected_usd"]) == (None, None)
    assert unknown["cost_note"] == why
    assert pnyx("ask", "--dry-run", "Why?", "--json").json["cost_note"] is None


def test_the_key_is_in_nothing_that_is_printed_or_stored(lab: ScriptedHost, home: Path) -> None:
    lab.on("beta", status=401, message=f"bad key {KEY}")
    done = pnyx("ask", "--jsonl", "-v", "Why?")
    assert KEY not in done.out + done.err
    stored = [path.read_bytes() for path in (home / ".local").rglob("*") if path.is_file()]
    assert stored
    assert not any(KEY.encode() in data for data in stored)


def test_a_broken_database_is_an_error_that_names_it(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.db").write_bytes(b"not a database at all" * 100)
    monkeypatch.setenv("PNYX_DATABASE", str(tmp_path / "bad.db"))
    done = pnyx("ask", "--json", "Why?")
    assert (done.code, done.out) == (1, "")
    assert "bad.db" in done.err
    assert not lab.log


def test_text_with_unpaired_surrogates_stays_valid_json(lab: ScriptedHost) -> None:
    lab.on("*", text="half a character: \ud83d")
    assert json.loads(pnyx("ask", "--json", "Why?").out)["answer"].endswith("\ud83d")


@pytest.mark.parametrize(("model", "tiny"), [("smollm2-135m", True), ("./mine.gguf", False)])
def test_only_the_known_embedded_models_are_called_tiny(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, tiny: bool
) -> None:
    (tmp_path / "mine.gguf").write_bytes(b"GGUF that no engine can load")
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = pnyx("ask", "Why?", "-m", f"embedded:{model}*2")
    assert done.code == 3
    assert ("tiny embedded models" in done.err) == tiny
    assert ("fetch it with: pnyx models pull smollm2-135m" in done.err) == tiny


@pytest.mark.parametrize("chosen", [True, False])
def test_real_models_are_explained_to_who_has_chosen_no_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: bool
) -> None:
    panel = '[panel]\nseats = ["embedded:smollm2-135m*3"]\n'
    (tmp_path / "mine.toml").write_text(panel if chosen else "[run]\nretries = 1\n")
    monkeypatch.setenv("PNYX_CONFIG", str(tmp_path / "mine.toml"))
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path))
    done = pnyx("ask", "Why?", "-p", "voting", *(() if chosen else ("-m", "embedded:smollm2-135m*3")))
    assert "tiny embedded models" in done.err
    assert ("Set one API key" in done.err) == (not chosen)


def test_the_first_and_last_lines_name_the_panel_and_do_not_say_that_all_of_it_was_asked(
    lab: ScriptedHost,
) -> None:
    lab.on("*", text=ANSWER)
    done = pnyx("ask", "-p", "single", "Why?", "-m", "lab:alpha*2", "-m", "lab:beta").err
    assert " · single · panel of 3: lab:alpha*2, lab:beta\n" in done
    assert "\npanel of 3 · 1 call · " in done
    assert "\npanel of 3 · 4 calls · " in pnyx("ask", "-p", "voting", "Why?").err
