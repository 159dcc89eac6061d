"""What fits into the context of a model: fenced material, files, compaction, sizes of replies."""
