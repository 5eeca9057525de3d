"""The screens of tournaments. Pure."""
