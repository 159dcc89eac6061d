"""The embedded model: weights, worker process, provider."""
