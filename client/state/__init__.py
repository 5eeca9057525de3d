"""What was heard, as frozen values made by pure reducers."""
