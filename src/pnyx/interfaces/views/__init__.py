"""Data that every interface shows: records, transcripts, the catalogue, plans."""
