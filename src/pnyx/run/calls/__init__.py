"""One call to a model: admission, limits, retries, and what its reply is worth."""
