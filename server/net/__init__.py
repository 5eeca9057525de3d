"""The wire: the listener, connections over it, what their messages ask for, and what an enemy may not do. The only user of websockets."""
