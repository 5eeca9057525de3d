"""What both ends of a race agree on: cards, the provable shuffle, messages, the codec, errors, records.

Pure: nothing here knows of sockets, clocks, terminals or databases. The server and the client import this package and never each
other. `protocol/README.md` is the wire specification.
"""

__version__ = "0.1.0"
"""The one version number of the distribution; the wire's own version is part of the subprotocol names in `protocol.codec`."""

DEFAULT_PORT = 7777
"""Where a server listens and a client looks for one when nobody says otherwise."""

PROGRAM_VARIABLE = "CARPET_PROGRAM"
"""The environment variable by which a command that was typed as another one knows whose name stands before its sentences."""

SERVER_PROGRAM = "carpet-server"
"""The server's command, when it was typed as itself."""

HOME_VARIABLE = "CARPET_HOME"
"""The environment variable that names another folder than the user's usual one for all that is kept, on either side."""
