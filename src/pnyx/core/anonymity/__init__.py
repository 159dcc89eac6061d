"""What hides who wrote a text: brands, names that models give themselves, and their mask."""
