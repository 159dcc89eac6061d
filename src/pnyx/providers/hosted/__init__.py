"""Hosted models: requests by pydantic-ai, sent over aiohttp, replies read leniently; see design/hosts.md."""
