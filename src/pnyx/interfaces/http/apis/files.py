"""Images and documents in the messages of an API, as sources of files."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from ....core.context.files import Source
from .conversation import refuse

__all__ = ["file_of"]

IMAGE = "image/*"
"""The media type of an image at an address, until it is read."""


def file_of(part: Mapping[str, Any], param: str) -> Source | None:
    """The image or document of a part; None for a part of another kind, such as a sound.

    Raises `UsageError` if the part lacks its content, or has it in no form that can be read.
    """
    match part.get("type"):
        case "image_url":
            image = part.get("image_url")
            return _at(image.get("url") if isinstance(image, Mapping) else image, param, IMAGE)
        case "input_image":
            return None if part.get("file_id") else _at(part.get("image_url"), param, IMAGE)
        case "image" | "document" as kind if isinstance(part.get("source"), Mapping):
            name = str(part.get("title") or "")
            return _anthropic(part["source"], name, IMAGE if kind == "image" else "", param)
        case "file" if isinstance(part.get("file"), Mapping):
            return _openai(part["file"], param)
        case "input_file":
            return _openai(part, param)
    return None


def _openai(file: Mapping[str, Any], param: str) -> Source | None:
    name = str(file.get("filename") or "")
    if file.get("file_data") is not None:
        data = file["file_data"]
        if isinstance(data, str) and not data.startswith("data:"):
            return Source(name, data=_bytes(data, param))
        return _at(data, param, "", name)
    return _at(file["file_url"], param, "", name) if file.get("file_url") is not None else None


def _anthropic(source: Mapping[str, Any], name: str, media_type: str, param: str) -> Source | None:
    kind = str(source.get("media_type") or media_type)
    match source.get("type"):
        case "base64":
            return Source(name, data=_bytes(source.get("data"), param), media_type=kind)
        case "text":
            return Source(name, content=str(source.get("data") or ""), media_type=kind)
        case "url":
            return _at(source.get("url"), param, media_type, name)
    return None


def _at(address: object, param: str, media_type: str, name: str = "") -> Source:
    """What is at an address: in it, if it is a data URL, or on the web."""
    if not isinstance(address, str):
        raise refuse(param, "an image or a file needs its content: a data URL, or an https URL")
    if not address.startswith("data:"):
        return Source(name, url=address, media_type=media_type)
    head, comma, data = address[5:].partition(",")
    if not comma:
        raise refuse(param, "a data URL has the form data:image/png;base64,…")
    kind, *options = head.split(";")
    content = _bytes(data, param) if "base64" in options else unquote_to_bytes(data)
    return Source(name, data=content, media_type=kind or media_type)


def _bytes(data: object, param: str) -> bytes:
    try:
        return b64decode("".join(str(data).split()), validate=True)
    except (binascii.Error, ValueError):
        raise refuse(param, "the data of an image or a file is no Base64") from None
