"""JSON schemas of answers: whether one is valid, and how an answer violates it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["MOST_CHARS", "check_schema", "violation"]

MOST_CHARS = 100_000


def check_schema(document: Mapping[str, Any]) -> str | None:
    """What is wrong with a JSON schema for answers, or None."""
    # Start-up time: few requests have a schema.
    from jsonschema import SchemaError

    if document.get("type", "object") != "object":
        return "the schema of an answer must be that of an object"
    try:
        if len(json.dumps(document)) > MOST_CHARS:
            return f"the schema of an answer must have at most {MOST_CHARS} characters"
        _validator(document).check_schema(document)
    except SchemaError as exc:
        return f"the schema of an answer is invalid: {exc.message[:300]}"
    except RecursionError:
        return "the schema of an answer is nested too deep"
    return None


def violation(value: object, document: Mapping[str, Any]) -> str | None:
    """How `value` violates a valid JSON schema, or None.

    Patterns are not checked: a hostile one would take for ever. References to other documents do not resolve,
    and count as a violation.
    """
    # Start-up time, as above.
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        error = best_match(_validator(document).iter_errors(value))
    except Unresolvable as exc:
        return f"the schema refers to what it does not hold: {exc}"
    except RecursionError:
        return "the schema or the object is too deep"
    if error is None:
        return None
    where = "/".join(map(str, error.absolute_path))
    return f"{where or 'the object'}: {error.message[:300]}"


def _validator(document: Mapping[str, Any]) -> Any:
    # Start-up time, as above.
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from referencing import Registry

    kind = extend(
        validator_for(document, Draft202012Validator), {"pattern": _ignore, "patternProperties": _ignore}
    )
    return kind(document, registry=Registry())


def _ignore(*_: object) -> None:
    return None
