"""The service over HTTP: routes, who asks, how often, and what each refusal is in HTTP. Alone with ``daemon`` it imports FastAPI."""
