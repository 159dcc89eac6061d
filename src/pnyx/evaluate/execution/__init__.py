"""Run an evaluation: arms, sampling, the bench, the inspect-ai plug-in."""
