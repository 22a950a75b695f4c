"""OpenStack, by its own SDK (openstacksdk): what a cluster needs of Nova, Neutron, Cinder and Glance. The SDK is imported here alone."""
