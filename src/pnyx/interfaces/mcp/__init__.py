"""The door for assistants: the Model Context Protocol over stdin and stdout, or beside the REST routes."""
