"""Settings: the schema, the sources, and the trust of project folders."""
