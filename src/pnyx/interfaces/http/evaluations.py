"""/v1/evaluations: the evaluations that `pnyx eval` stored on this machine, and reports of any log.

They belong to the user of the machine, so only the server's own key lists and opens them.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from ...config.paths import data_dir
from ...evaluate.analysis.log import Log
from ...evaluate.owners import LEARNER
from ...evaluate.report.document import document
from ...evaluate.stored import find_log, stored_evaluations
from .errors import Exact
from .schemas import EvaluationLog, EvaluationReport, StoredEvaluation
from .state import owner_of, refuse_unknown_parameters

__all__ = ["ROUTER"]

ROUTER = APIRouter(
    prefix="/v1/evaluations", tags=["server"], dependencies=[Depends(refuse_unknown_parameters)]
)
LINES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/jsonl": {}}}}


@ROUTER.get("", response_model=list[StoredEvaluation])
async def list_evaluations(request: Request) -> Response:
    """List the evaluations of this machine, the last written first; a named key has none."""
    folder = _folder(request)
    found = [] if folder is None else await asyncio.to_thread(stored_evaluations, folder)
    return Exact([asdict(one) for one in found])


# Before the names of evaluations: a refused method is answered by the first route that has the path.
@ROUTER.post("/report", response_model=EvaluationReport)
async def report_evaluation(request: Request, body: EvaluationLog) -> Response:
    """Build the report of an evaluation from its log, as `pnyx eval --replay` does. Nothing is stored."""

    def report() -> dict[str, Any]:
        return document(Log.parse(body.log.split("\n"), "the log"))

    return Exact(await asyncio.to_thread(report))


@ROUTER.get("/{evaluation_id}", response_model=EvaluationReport)
async def read_evaluation(request: Request, evaluation_id: str) -> Response:
    """Return the report of a stored evaluation, as `pnyx eval --replay` builds it from its log."""
    file = _log_of(request, evaluation_id)
    return Exact(await asyncio.to_thread(lambda: document(Log.read(file))))


@ROUTER.get("/{evaluation_id}/log", response_class=Response, responses=LINES)
async def read_log(request: Request, evaluation_id: str) -> Response:
    """Return the log of a stored evaluation: every answer as a JSON line."""
    file = _log_of(request, evaluation_id)
    return Response(await asyncio.to_thread(file.read_bytes), media_type="application/jsonl")


def _folder(request: Request) -> Path | None:
    return data_dir() / "eval" if owner_of(request) == LEARNER else None


def _log_of(request: Request, id: str) -> Path:
    return find_log(_folder(request), id)
