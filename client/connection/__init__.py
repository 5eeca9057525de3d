"""The connection to a server: addresses, the WebSocket, reconnecting without losing or repeating anything. Knows nothing of the screens."""
