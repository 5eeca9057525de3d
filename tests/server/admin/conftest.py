"""Both kinds of connections, as the tests of the wire have them."""

from tests.server.net.conftest import both_kinds as both_kinds
