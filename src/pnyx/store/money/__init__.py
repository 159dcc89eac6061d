"""The ledger of caps and reservations, and sums of what calls cost."""
