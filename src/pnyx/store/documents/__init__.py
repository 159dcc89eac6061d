"""How JSON documents are stored: packed, with each long text stored once."""
