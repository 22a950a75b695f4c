"""A share driver of OpenStack Manila: shares are spaces of a service of wavetank. ``driver`` alone imports Manila."""
