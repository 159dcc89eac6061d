"""Answers that are code or data: literals, identifiers and proposed calls of tools."""
