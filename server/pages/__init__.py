"""The pages of a server's HTTP side, each a route for `server.net.http`: what is in them, and from where. Must not know of requests."""
