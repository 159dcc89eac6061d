"""Requests from outside: their JSON and its bounds, and what messages say of a mistake in them."""
