"""What the service knows and does, as one object: requests go in, records come out.

Any thread may call any method. Reads see what was committed last and wait for nobody; changes are made one after the other.
Times are arguments, in UTC. ``actor`` is who asks: "tenant:NAME", "admin" or "service"; it goes into the audit rows, and so
does each refusal.
"""

from __future__ import annotations

from wavetank.service.store.age import Age
from wavetank.service.store.happenings import Happenings
from wavetank.service.store.parties import Parties
from wavetank.service.store.progress import Progress
from wavetank.service.store.spaces import Spaces
from wavetank.service.store.templates import Templates
from wavetank.service.store.tokens import Tokens


class Store(Parties, Templates, Tokens, Spaces, Happenings, Progress, Age):
    """An open folder of the service."""
