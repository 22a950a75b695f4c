"""Groups of clients on one cluster at the same time: the plan, its run, and what it says (method, section 9)."""
