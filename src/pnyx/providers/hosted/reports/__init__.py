"""Reads failures that hosts report in words of their own."""
