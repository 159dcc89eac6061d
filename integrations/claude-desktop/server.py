"""The server of the bundle: `pnyx mcp`, installed by the bundle's pyproject.toml."""

from pnyx.interfaces.cli import main

if __name__ == "__main__":
    main(["mcp"])
