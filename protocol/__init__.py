"""What both ends of a race agree on: cards, the provable shuffle, messages, the codec, errors, records.

Pure: nothing here knows sockets, clocks, terminals or databases. The server and the client import this package and never each
other. `protocol/README.md` is the wire specification.
"""

__version__ = "0.1.0"
"""The one version number of the distribution; the wire's own version is part of the subprotocol names in `protocol.codec`."""

DEFAULT_PORT = 7777
"""Where a server listens, and a client looks for one, by default."""

PROGRAM_VARIABLE = "CARPET_PROGRAM"
"""The environment variable that tells a command started by another one which program name to put before its messages."""

SERVER_PROGRAM = "carpet-server"
"""The name of the server's command, if it was started under its own name."""

HOME_VARIABLE = "CARPET_HOME"
"""The environment variable that names a folder for everything that is kept, on either side, in place of the user's usual one."""

INTERRUPTED = 130
"""The exit status of a command, on either side, that was interrupted, as by Ctrl+C."""
