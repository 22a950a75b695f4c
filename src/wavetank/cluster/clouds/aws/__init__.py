"""AWS, by its own SDK (boto3): what a cluster needs of EC2, and nothing else. The SDK is imported here alone."""
