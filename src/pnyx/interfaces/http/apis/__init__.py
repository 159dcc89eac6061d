"""The APIs of OpenAI and Anthropic: each reads and writes its own form of the one `Conversation`."""
