"""The connection to a server: address, WebSocket, coming back, and nothing lost or doubled by it. Knows no screen."""
