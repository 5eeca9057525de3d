"""The pages that a server has over HTTP, each a route for `server.net.http`: their contents and where these come from. Must not know of
requests."""
