"""The version of pnyx, which events and stored runs carry."""

__version__ = "0.2.0"
