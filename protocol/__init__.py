"""What both ends of a race agree on: cards, the provable shuffle, messages, the codec, errors, records.

Pure: nothing here knows of sockets, clocks, terminals or databases. The server and the client import this package and never each
other. `protocol/README.md` is the wire specification.
"""

__version__ = "0.1.0"
"""The one version number of the distribution; the wire's own version is part of the subprotocol names in `protocol.codec`."""
