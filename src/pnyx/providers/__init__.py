"""Where models are asked: one seam (`seam`), its adapters, and the catalogue of models and prices."""
