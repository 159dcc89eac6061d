"""lm-eval: a task of its own, over chat completions and over completions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from checks import KEY, URL, check, expect, lab, run

HOME = Path(tempfile.mkdtemp())
QUESTIONS = [{"question": f"What is {n} times 7?", "answer": str(n * 7)} for n in (6, 6, 5)]
TASK = f"""
task: products
dataset_path: json
dataset_kwargs:
  data_files: {{test: "{HOME}/questions.jsonl"}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n\\n"], max_gen_toks: 200}}
filter_list:
  - name: last
    filter:
      - {{function: regex, regex_pattern: "Final answer: (\\\\d+)"}}
      - {{function: take_first}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
"""
(HOME / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS))
(HOME / "products.yaml").write_text(TASK)


def evaluate(model: str, path: str, *more: str, name: str = "pnyx/voting") -> Any:
    folder = Path(tempfile.mkdtemp())
    settings = f"model={name},base_url={URL}/v1/{path},num_concurrent=2"
    settings += ",tokenizer_backend=none,tokenized_requests=False"
    environment = {**os.environ, "OPENAI_API_KEY": KEY, "HF_HUB_OFFLINE": "1", "HF_HOME": str(HOME / "hf")}
    command = [Path(sys.executable).parent / "lm-eval", "run", "--model", model, "--model_args", settings]
    command += ["--tasks", "products", "--include_path", HOME, "--output_path", folder, *more]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250)
    found = list(folder.rglob("results*.json"))
    expect(found, done.stdout + done.stderr[-1500:])
    return json.loads(found[0].read_text())["results"]["products"]["exact_match,last"]


@check("chat completions")
def chat() -> None:
    expect(
        abs(evaluate("local-chat-completions", "chat/completions", "--apply_chat_template") - 2 / 3) < 1e-9,
        "score",
    )
    expect(len(lab.calls()) >= 6, len(lab.calls()))


@check("completions")
def completions() -> str:
    expect(abs(evaluate("local-completions", "completions") - 2 / 3) < 1e-9, "score")
    return "tasks of log probabilities, which a panel has not; batch_size above 1 in completions"


run("lm-eval")
