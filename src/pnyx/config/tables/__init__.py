"""Tables of the settings that have a module of their own; `pnyx.config.schema` puts them together."""
