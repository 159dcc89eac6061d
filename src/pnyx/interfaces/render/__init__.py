"""Runs as documents: Markdown, HTML, folders, terminal text."""
