"""The commands and their options. Imports nothing heavy: help and completion load only these."""
