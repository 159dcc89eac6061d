"""Reads the files of a request: paths, bytes, folders, diffs and pages become texts and images for seats."""
