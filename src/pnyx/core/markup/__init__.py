"""Markup in replies: notation and quotations."""
