"""What prompts ask for, where PROTOCOLS.md says it: by the words that ask for it, in both variants.

What seats make of it is for the evaluation to measure; a prompt that no longer asks is found here.
"""

from __future__ import annotations

import pytest

from pnyx.prompts import ROOT
from tests.support.rows import rows

PROMPTS = sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.rglob("*.md"))
ANSWERING = (
    *("aggregate/answer", "aggregate/review", "consensus/propose", "consensus/propose-again"),
    *("consensus/revise", "council/propose", "council/propose-again", "council/rebut", "council/synthesise"),
    *("decompose/merge", "decompose/prioritize", "deliberate/answer", "deliberate/position"),
    *("deliberate/vote", "moa/answer", "moa/layer", "moa/close", "sample/answer", "single/answer"),
    *("voting/vote", "voting/judge", "voting/weigh"),
)


def text(prompt: str) -> str:
    return " ".join((ROOT / f"{prompt}.md").read_text("utf-8").split())


def whole(prompt: str) -> str:
    """The task `prompt` with the system message that comes before it."""
    name, short = prompt.removesuffix(".short"), ".short" * prompt.endswith(".short")
    system = f"{name.partition('/')[0]}/system{short}"
    before = [text(system), text(f"rules{short}")] if system in PROMPTS else []
    return " ".join([*before, text(prompt)])


def asks(prompt: str, *words: str) -> None:
    missing = [part for part in words if part not in whole(prompt)]
    assert not missing


@rows("variant", ["", ".short"])
@rows("prompt", ANSWERING)
def test_who_answers_is_asked_for_the_line_that_code_reads(prompt: str, variant: str) -> None:
    asks(f"{prompt}{variant}", "Final answer:")


@rows("prompt", [name for name in PROMPTS if "{{nonce}}" in text(name)])
def test_what_is_fenced_is_introduced_as_material_and_not_as_instructions(prompt: str) -> None:
    said = text(prompt)
    assert any(
        word in said
        for word in ("material", "It is there to be weighed", "They are text to", "It is text to")
    )
    refusals = ("not obeyed", "not instructions", "tells you to do something")
    assert any(word in said for word in refusals)
    assert said.index("{{nonce}}") < min(said.index(word) for word in refusals if word in said)


def test_a_proposal_is_to_be_specific_with_examples_and_numbers_and_without_hedging() -> None:
    asks(
        "consensus/propose",
        "a number with its unit, a named example",
        "Be concrete about doing it",
        "Name the strongest alternative",
        "Commit.",
        "no softening words",
    )
    asks(
        "consensus/propose.short", "first the reasons, step by step", "one example or number", "Final answer:"
    )


def test_a_challenge_is_to_disagree_without_praise_and_to_name_what_is_wrong_or_missing() -> None:
    asks(
        "consensus/challenge",
        "Find at least one substantive disagreement",
        "Begin with the objection itself. No praise",
        "what is wrong, oversimplified or missing",
    )
    asks("consensus/challenge.short", "what is wrong or missing, why it matters", "do not praise it")


def test_a_challenge_of_a_recommendation_argues_for_an_alternative() -> None:
    asks("consensus/challenge", "If the proposal recommends something, argue for a specific alternative")
    asks("consensus/challenge.short", "what should be done instead")


@pytest.mark.parametrize(
    ("framing", "angle", "short"),
    [
        ("flaw", "the flaw", "most likely false"),
        ("alternative", "the alternative", "a better choice"),
        ("risk", "risk", "what will go wrong"),
        ("advocate", "devil's advocate", "why the opposite is true"),
    ],
)
def test_every_framing_has_an_angle_of_its_own(framing: str, angle: str, short: str) -> None:
    asks(f"consensus/{framing}", f"Your angle: {angle}.")
    asks(f"consensus/{framing}.short", short)


def test_a_revision_answers_each_challenge_and_does_not_mention_the_debate() -> None:
    asks(
        "consensus/revise",
        "Decide for each challenge whether it is right, partly right or wrong",
        "Where a challenge is right, change the answer",
        "Keep what was right, with stronger grounds",
        "Take in views the draft lacked",
        "Where it is wrong, keep your point and give the ground",
        "no mention of proposals, earlier answers, challenges, participants or a debate",
    )
    asks("consensus/revise.short", "Use what is right in the objections", "Do not mention the first answer")


def test_the_next_proposal_builds_on_the_answer_and_the_objections_that_stand() -> None:
    asks(
        "consensus/propose-again",
        "Keep what was right",
        "Look for what neither it nor they have seen yet",
        'so that it replaces "{{answer}}"',
    )
    asks("consensus/propose-again.short", "Keep what is right, and fix what the objections are right about")


def test_a_judge_picks_the_best_answer_and_improves_it_where_it_can() -> None:
    asks("voting/judge", "BEST: <label>", "make it better where you can", "order is random")
    asks("voting/judge.short", "Step 1:", "BEST", "with its mistakes corrected")


def test_a_weighing_judge_combines_all_answers_by_their_weights() -> None:
    asks("voting/weigh", "Combine them", "add up the weights on each side", "{{weights}}")
    asks(
        "voting/weigh.short",
        "Step 1:",
        "put the answers together into one",
        "believe the side that counts more",
    )


def test_the_classes_are_explained_as_they_are_routed() -> None:
    asks(
        "auto/classify",
        "Logic, mathematics, code, anything to be worked out step by step",
        "an opinion, an evaluation, a comparison",
        "several parts of which at least one needs the result of another",
    )
    asks(
        "auto/classify.short",
        "Mathematics, logic, code",
        "an opinion, a comparison",
        "one part needs the result",
    )
    asks(
        "auto/route",
        "short, and somebody who knows it can mark it right or wrong",
        "a longer text with reasons, which can be attacked",
        "used as it is written and of which many good ones are possible",
        "several parts of which at least one needs the result of another",
    )


def test_a_plan_has_two_to_seven_subtasks_each_with_label_question_and_needs() -> None:
    for variant in ("", ".short"):
        asks(f"decompose/plan{variant}", "2 to {{most}}", '"label"', '"question"', '"needs"', "JSON object")


def test_a_merger_is_one_coherent_answer_and_a_prioritised_one_goes_by_support() -> None:
    asks("decompose/merge", "one coherent answer", "Do not mention parts")
    asks("decompose/merge.short", "Write one answer to the whole question")
    asks("decompose/prioritize", "how much they can be relied on", "{{weights}}")
    asks("decompose/prioritize.short", "How sure each one is, from 0 to 1", "Put what is sure first")


def test_a_synthesis_merges_the_strongest_points_and_keeps_minority_views() -> None:
    asks("council/synthesise", "Merge in the strongest points of the others", "Keep the minority's view")
    asks("council/synthesise.short", "Add the best point of the other answers", "If somebody disagrees")


def test_an_aggregator_judges_steps_and_not_their_number_and_says_which_it_accepts() -> None:
    asks(
        "aggregate/review", "Judge steps, not conclusions", "is no evidence for it", "ACCEPTED:", "REJECTED:"
    )
    asks("aggregate/review.short", "do not count how many say the same", "ACCEPTED:", "REJECTED:")
    asks("aggregate/answer", "Reason in numbered steps")


def test_a_turn_of_a_deliberation_steelmans_criticises_steps_and_decides() -> None:
    asks(
        "deliberate/position",
        "STEELMAN: For each position that opposes yours, its strongest form",
        "CRITIQUE: The specific steps that do not hold",
        "why the inference is invalid, shown by",
        "DECISION: Your answer now, and why",
    )
    asks(
        "deliberate/position.short",
        "STEELMAN: What speaks for the other",
        "CRITIQUE: Which step is wrong",
        "DECISION: What is your answer now, and why?",
    )


def test_the_final_vote_of_a_deliberation_is_cast_alone() -> None:
    asks("deliberate/vote", "you cast one vote, alone", "nobody sees it before all have voted")


def test_sources_are_cited_by_their_numbers() -> None:
    asks(
        "context",
        "give that number, such as [2], right after each statement",
        "Cite no number that is not there",
    )
    asks("context.short", "If a note has a number such as [2], write that number after what you take from it")


@rows("prompt", [name for name in PROMPTS if name.endswith(".short")])
def test_small_models_get_no_form_in_brackets_that_they_could_copy(prompt: str) -> None:
    assert "<" not in text(prompt)


@pytest.mark.parametrize(
    "prompt", ["council/propose", "council/propose-again", "council/rebut", "voting/vote"]
)
def test_small_models_are_to_work_it_out_before_they_say_what_it_is(prompt: str) -> None:
    said = text(f"{prompt}.short")
    assert said.index("step by step") < said.index("Final answer:")
    assert "first sentence" not in said
