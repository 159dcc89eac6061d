"""Model hosts: the interface (`base`), its implementations, the catalogue of models and prices."""
