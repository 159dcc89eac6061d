"""What options of a request mean: saved panels, limits of keys, tools and forms of the answer."""
