"""JSON schemas of answers: whether one is valid, and how an answer violates it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from .schema_keywords import is_format, is_pattern, matches

__all__ = ["MOST_CHARS", "check_schema", "violation"]

MOST_CHARS = 100_000
MOST_REFERENCES = 20_000
"""That one check follows: a short schema can refer to itself in 2 ** 50 ways."""


class _TooManyError(Exception):
    """A check follows more than `MOST_REFERENCES`."""


def check_schema(document: Mapping[str, Any]) -> str | None:
    """What is wrong with a JSON schema for answers, or None."""
    # Start-up time: few requests have a schema.
    from jsonschema import FormatChecker, SchemaError

    if document.get("type", "object") != "object":
        return 'the schema of an answer must be that of an object: {"type": "object", "properties": …}'
    formats = FormatChecker(formats=())
    formats.checks("regex")(lambda text: not isinstance(text, str) or is_pattern(text))
    try:
        if len(json.dumps(document)) > MOST_CHARS:
            return f"the schema of an answer must have at most {MOST_CHARS} characters"
        _validator(document).check_schema(document, format_checker=formats)
        if missing := _missing(document):
            return (
                f"the schema of an answer refers to {missing[:200]!r}, which it does not hold; other "
                "documents are not fetched"
            )
    except SchemaError as exc:
        return f"the schema of an answer is invalid: {exc.message[:300]}"
    except RecursionError:
        return "the schema of an answer is nested too deep"
    return None


def violation(value: object, document: Mapping[str, Any]) -> str | None:
    """How `value` violates a valid JSON schema, or None.

    Patterns and formats count as far as `schema_keywords` has them. References to other documents do not
    resolve, and count as a violation.
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
    except _TooManyError:
        return f"the schema leads to more than {MOST_REFERENCES} references"
    if error is None:
        return None
    where = "/".join(map(str, error.absolute_path))
    return f"{where or 'the object'}: {error.message[:300]}"


def _missing(document: Mapping[str, Any]) -> str | None:
    """A reference of the schema to what it does not hold, or None."""
    # Start-up time, as above.
    from jsonschema_specifications import REGISTRY
    from referencing import Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    root: Resource[Any] = Resource.from_contents(document, default_specification=DRAFT202012)
    left = [(root, REGISTRY.with_resource(root.id() or "", root).crawl().resolver_with_root(root))]
    while left:
        schema, resolver = left.pop()
        if isinstance(schema.contents, Mapping):
            for keyword in ("$ref", "$dynamicRef"):
                target = schema.contents.get(keyword)
                try:
                    if isinstance(target, str):
                        resolver.lookup(target)
                except Unresolvable:
                    return target
        left += [(one, resolver.in_subresource(one)) for one in schema.subresources()]
    return None


def _validator(document: Mapping[str, Any]) -> Any:
    # Start-up time, as above.
    from jsonschema.validators import Draft202012Validator, extend, validator_for
    from jsonschema_specifications import REGISTRY

    base = validator_for(document, Draft202012Validator)
    keywords = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "format": _format,
        "multipleOf": _multiple_of,
        **_counted({name: base.VALIDATORS[name] for name in REFERRING if name in base.VALIDATORS}),
    }
    if _has_patterns_of_names(document):
        # The library would look for these names with `re`, which a hostile pattern keeps for ever.
        keywords["unevaluatedProperties"] = _ignore
    return extend(base, keywords)(document, registry=REGISTRY)


REFERRING = ("$ref", "$dynamicRef", "$recursiveRef")


def _counted(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords, which raise `_TooManyError` once they have been followed too often."""
    left = MOST_REFERENCES

    def counted(follow: Any) -> Any:
        def keyword(*arguments: Any) -> Iterator[Any]:
            nonlocal left
            left -= 1
            if left < 0:
                raise _TooManyError
            yield from follow(*arguments) or ()

        return keyword

    return {name: counted(follow) for name, follow in keywords.items()}


def _has_patterns_of_names(document: Mapping[str, Any]) -> bool:
    return '"patternProperties"' in json.dumps(document)


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, str) and matches(pattern, value) is False:
        yield _error(f"{value!r} does not match {pattern!r}")


def _format(validator: Any, name: Any, value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, str) and not is_format(str(name), value):
        yield _error(f"{value!r} has not the format {name}")


def _multiple_of(validator: Any, step: Any, value: Any, schema: Any) -> Iterator[Any]:
    # As written: in binary, 0.07 is no multiple of 0.01.
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            fits = (Fraction(str(value)) / Fraction(str(step))).denominator == 1
        except (ValueError, ZeroDivisionError):  # no number, such as an infinite one
            fits = False
        if not fits:
            yield _error(f"{value!r} is not a multiple of {step}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, schema: Any
) -> Iterator[Any]:
    if isinstance(value, dict):
        for pattern, one in patterns.items():
            for name, inner in value.items():
                if matches(pattern, name):
                    yield from validator.descend(inner, one, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(value, dict):
        return
    known, patterns = schema.get("properties", {}), tuple(schema.get("patternProperties", ()))
    # A pattern that cannot be checked may match.
    extra = [
        name
        for name in value
        if name not in known and all(matches(pattern, name) is False for pattern in patterns)
    ]
    if isinstance(allowed, dict):
        for name in extra:
            yield from validator.descend(value[name], allowed, path=name)
    elif allowed is False and extra:
        named = ", ".join(map(repr, extra))
        were = "was" if len(extra) == 1 else "were"
        yield _error(f"Additional properties are not allowed ({named} {were} unexpected)")


def _error(message: str) -> Any:
    # Start-up time, as above.
    from jsonschema import ValidationError

    return ValidationError(message)


def _ignore(*_: object) -> None:
    return None
