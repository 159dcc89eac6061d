"""Analysis of results: arms, statistics, calibration of confidence, learning."""
