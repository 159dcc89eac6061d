"""Learning from outcomes: vote weights, early stopping, and calibrated confidence."""
