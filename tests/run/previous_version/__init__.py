"""A database that an earlier version of pnyx wrote, what it should come to, and the script that made it."""
