"""The rules of the service, pure: records, states, classes, placement, quotas, and what a request makes of a space."""
