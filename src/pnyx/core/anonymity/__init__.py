"""Masking of model names in material: brand names, self-references, and the mask."""
