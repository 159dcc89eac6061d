"""Parts that several protocols use."""
