"""voting, where a judge is silent, cannot be read, or names no vote."""

from __future__ import annotations

import pytest

from pnyx.core.steps import Ask, Reply
from pnyx.testing import prompt_name
from tests.protocols.test_voting import A, B, C, ruling, run, said, vote
from tests.support.rows import rows


def test_an_unreadable_judgement_is_repaired_once_then_the_next_strongest_judges() -> None:
    votes = ["Use one.", "Use two.", "Use three."]
    driven, decision = run(said(votes, "They all have merit.", ruling(A, "Do it now.")))
    assert driven.prompts()[3:] == ["judge", "repair"]
    assert "could not be read" in driven.asks[-1].prompt.text
    assert (decision.answer, decision.detail["judge"]["seat"]) == ("Do it now.", B.label)
    driven, decision = run(said(votes, "All good.", "Really all.", ruling(A, "Do it now.")))
    assert [ask.seat for ask in driven.asks[3:]] == [B, B, C]
    assert decision.detail["judge"]["seat"] == C.label


def test_a_judge_that_cannot_be_read_leaves_the_decision_to_the_count() -> None:
    votes = [vote(4, "Low."), vote(5), vote(4, "Mid.")]
    driven, decision = run(said(votes, vote(5, "Plainly.")))
    assert [ask.seat for ask in driven.asks[3:]] == [B, B]  # asked once more, and nobody in its place
    assert (decision.answer, decision.stop_reason) == (vote(4, "Mid."), "no_judge")
    assert [step.seat for step in driven.abstentions] == [B]
    split = [vote(4), vote(5, "High."), vote(6)]
    _, decision = run(said(split, "All have merit."))
    assert (decision.answer, decision.detail["settled_by"]) == (vote(5, "High."), "strongest vote")


def test_a_judge_that_is_silent_is_followed_by_the_next_strongest() -> None:
    driven, decision = run(said([vote(4), vote(5), vote(4)], None, ruling(A, vote(4, "Sums."))))
    assert [ask.seat for ask in driven.asks_for("judge")] == [B, C]
    assert (decision.answer, decision.detail["judge"]["seat"]) == (vote(4, "Sums."), C.label)


def test_a_judge_without_a_pick_that_ends_on_the_leading_answer_has_decided() -> None:
    driven, decision = run(said([vote(4), vote(5), vote(4)], vote(4, "Plainly.")))
    assert len(driven.asks) == 4
    assert (decision.answer, decision.detail["pick"]) == (vote(4, "Plainly."), None)
    assert decision.agreement == pytest.approx(2 / 3)


def test_what_a_judge_works_out_before_its_pick_is_the_answer_where_the_vote_states_none() -> None:
    votes = [vote(4, "Low."), vote(5), "It depends on what is counted."]
    worked = "Step 1: 2 + 2 = 4.\nFinal answer: 4"
    _, decision = run(said(votes, f"{worked}\n\nBEST: {C.label}"))
    assert (decision.answer, decision.final_answer) == (worked, "4")
    assert decision.detail["pick"] == C.label
    _, decision = run(said(votes, f"{worked}\n\nBEST: {B.label}"))  # what the vote states stands as it is
    assert (decision.answer, decision.final_answer) == (vote(5), "5")
    _, decision = run(said(votes, f"2 + 2 = 4, so the answer is 4.\nBEST: {C.label}"))  # no such line
    assert (decision.answer, decision.final_answer) == (votes[2], None)


def test_a_directive_that_names_nobody_is_no_part_of_the_answer() -> None:
    votes = [vote(4, "Low."), vote(5), vote(4, "Mid.")]
    _, decision = run(said(votes, "BEST: Final answer: 4"))
    assert (decision.answer, decision.final_answer) == (vote(4, "Mid."), "4")
    _, decision = run(said(votes, "Checked.\nBest: the lower ones\n\nSums.\nFinal answer: 4"))
    assert decision.answer == vote(4, "Sums.")


@rows(
    "directive, number",
    [
        ("2. BEST: {}", "3. "),
        ("2) **BEST: {}**", "3) "),
        ("**2.** BEST: {}", "**3.** "),
        ("### 2. BEST: {}", "### 3. "),
        ("(2) BEST: {}", "(3) "),
        ("Part 2: BEST: {}", "Part 3: "),
        ("**Part 2: BEST: {}**", "**Part 3:**\n\n"),
        ("BEST: {}", "2. "),
        ("2. BEST: {}", ""),
    ],
)
def test_a_judge_may_number_its_parts(directive: str, number: str) -> None:
    judgement = f"1. Step two is off.\n\n{directive.format(A.label)}\n\n{number}{vote(43, 'Plus 7.')}"
    _, decision = run(said([vote(41), vote(40), vote(39)], judgement))
    assert (decision.answer, decision.final_answer) == (vote(43, "Plus 7."), "43")
    assert decision.detail["pick"] == A.label


@pytest.mark.parametrize(
    "answer", ["1. Dig.\n2. Sow.", "3.5 m of it.", "**So: dig.**", "5. Dig, as in step 5."]
)
def test_a_number_that_is_of_the_answer_stays(answer: str) -> None:
    _, decision = run(said(["Dig.", "Sow.", "Wait."], f"1. All hold.\n2. BEST: {A.label}\n\n{answer}"))
    assert decision.answer == answer


def test_bold_around_a_numbered_answer_stays_whole() -> None:
    _, decision = run(
        said(["Dig.", "Sow.", "Wait."], f"1. So.\n2. BEST: {A.label}\n**3. Dig now.** Then sow.")
    )
    assert decision.answer == "**Dig now.** Then sow."


@rows(
    "nothing",
    [
        "No improvement needed.",
        "The answer stands as it is.",
        "(No change.)",
        "*No changes or corrections are necessary.*",
        "3. There is nothing to improve; the answer stands.",
        "Participant A's answer stands as it is.",
        "Same as above.",
    ],
)
def test_a_judge_that_only_says_that_nothing_changes_leaves_the_vote(nothing: str) -> None:
    judgement = f"1. It holds.\n2. BEST: {A.label}\n\n{nothing}"
    _, decision = run(said([vote(41), vote(40), vote(39)], judgement))
    assert (decision.answer, decision.final_answer) == (vote(41), "41")


@rows(
    "answer",
    [
        "No change is needed to the schema, because the column exists.",
        "No.",
        "None of them.",
        "Unchanged.",
        "No change is needed.\n\nFinal answer: no",
        "The proposal stands only if the council votes for it.",
        "Keep the answer sheet.",
    ],
)
def test_an_answer_that_says_no_is_an_answer(answer: str) -> None:
    _, decision = run(said(["Alter it.", "Drop it.", "Wait."], f"BEST: {A.label}\n\n{answer}"))
    assert decision.answer == answer


def test_a_pick_in_a_fence_leaves_no_mark_of_it() -> None:
    votes = ["Dig.", "Sow.", "Wait."]
    for judgement in (f"```\nBEST: {A.label}\n```\nDig now.", f"```\nBEST: {A.label}\n\nDig now.\n```"):
        assert run(said(votes, judgement))[1].answer == "Dig now."


def test_without_any_judge_the_leading_vote_is_the_decision_verbatim() -> None:
    driven, decision = run(said([vote(4, "Low."), vote(5), vote(4, "Mid.")], None))
    assert [ask.seat for ask in driven.asks_for("judge")] == [B, C, A]
    assert (decision.answer, decision.stop_reason) == (vote(4, "Mid."), "no_judge")
    assert (decision.detail["settled_by"], decision.detail["judge"]) == ("plurality", None)
    _, decision = run(said([vote(4), vote(5, "High."), vote(6)], None))
    assert (decision.answer, decision.detail["settled_by"]) == (vote(5, "High."), "strongest vote")
    assert decision.status == "plurality"


def test_a_judge_that_is_cut_off_without_a_pick_leaves_the_vote_that_it_came_to() -> None:
    def say(ask: Ask) -> str | Reply:
        if prompt_name(ask) == "judge":
            return Reply(ask, "Four it is.\nFinal answer: 4\n\nFor on the one ha", truncated=True)
        return vote(4, "Whole.") if ask.seat == A else vote(5 if ask.seat == B else 4)

    _, decision = run(say)
    assert (decision.answer, decision.final_answer) == (vote(4), "4")
