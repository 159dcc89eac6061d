"""Hosted models: one provider over every SDK, transport, usage, errors."""
