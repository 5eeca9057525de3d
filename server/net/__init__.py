"""The wire: the listener, its connections, what their messages ask for, and limits against abuse. The only user of websockets."""
