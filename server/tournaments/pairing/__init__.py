"""Who meets whom and who stands where: pure, from results to rounds and standings."""
