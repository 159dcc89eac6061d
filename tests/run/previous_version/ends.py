"""`python -m tests.run.previous_version.ends` writes `ends.json`: how today's version ends the stopped runs.

A run that an earlier version began asks what is left with today's prompts. The scripted replies follow from
the prompts, so they are other ones than in the run that nothing stopped; only runs whose remaining replies do
not depend on the wording of prompts still end as the earlier version ended them. The file has the others.
Run it after a deliberate change of prompts.
"""

from __future__ import annotations

import json
import lzma
import tempfile
from pathlib import Path

from tests.run.previous_version.make import COMPARED, FOLDER, STOPPED, Home
from tests.run.previous_version.panel import reply

ENDS = FOLDER / "ends.json"
VERSION = "pnyx-0.1.0"
GOES_ON = [*STOPPED, "batch", "chat-again"]


def main() -> None:
    runs = json.loads((FOLDER / f"{VERSION}.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.database.write_bytes(lzma.decompress((FOLDER / f"{VERSION}.db.xz").read_bytes()))
        for name in GOES_ON:
            home.resume(runs[name]["run_id"], *runs[name]["resume"], reply=reply)
        ends = {name: result or {} for name, (_, result) in home.rows().items()}
    found = {name: {field: ends[name].get(field) for field in COMPARED} for name in GOES_ON}
    other = {name: result for name, result in sorted(found.items()) if result != runs[name]["result"]}
    ENDS.write_text(json.dumps(other, indent=1) + "\n")


if __name__ == "__main__":
    main()
