"""What recorded outcomes say: vote weights, when to stop asking, calibrated confidence."""
