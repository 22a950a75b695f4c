"""Steps of the ssh provider."""
