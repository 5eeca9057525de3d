"""What the client has heard, as frozen values made by pure reducers."""
