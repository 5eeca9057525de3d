"""Administration of a running server by its host, over a Unix socket: lists, endings, bans."""
