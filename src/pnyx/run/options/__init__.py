"""The options of a request, what they mean, and the spec that they resolve to."""
