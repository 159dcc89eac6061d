"""What interfaces read and change of the database; nothing here starts a run."""
