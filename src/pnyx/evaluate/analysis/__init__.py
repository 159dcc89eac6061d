"""What results say: arms, statistics, calibration of confidence, learning."""
