"""The server that forks processes imports this: what each of them would read and look up in its first run."""

from __future__ import annotations

from pnyx import plugins
from pnyx.providers.images import reads_images
from pnyx.run.calls.warm_up import read_samples

read_samples(())
reads_images("a model of tests")
for group in (plugins.PROTOCOLS, plugins.PROVIDERS):
    plugins.names(group)
