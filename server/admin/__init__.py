"""What the host of a server asks it for while it runs, over a Unix socket: lists, endings, bans."""
