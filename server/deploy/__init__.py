"""Files for hosts, printed by `carpet-server deploy`: what runs a server or several, and what watches over them."""
