"""Facts about a kind of file system that hold before any of it is up. Its driver states them; everybody else asks the registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from wavetank.cluster.access import Access

if TYPE_CHECKING:
    from wavetank.cluster.components import FileSystem
    from wavetank.cluster.managed import Stored
    from wavetank.cluster.spec import ClusterSpec

METHODS: tuple[Access, ...] = ("virtual", "client", "passthrough", "volume")
"""Access methods of guests."""
StripeKind = Literal["distributed", "sharded", "replicated", "disperse"]


@dataclass(frozen=True)
class TriedLayout:
    """A layout that ``wavetank try`` may compare.

    Attributes:
        servers: data servers; None: one for each input file, which holds that file whole.
        stripe: size of the blocks of a file, bytes; None: files lie as by default.
    """

    servers: int | None
    stripe: int | None = None


def _no_problems(fs: FileSystem) -> Iterable[str]:
    del fs
    return ()


def _no_price(spec: ClusterSpec) -> Stored | None:
    del spec
    return None


@dataclass(frozen=True)
class Facts:
    """What a kind of file system is, can and needs. The defaults are those of one that the nodes of a cluster serve.

    Attributes:
        title: as its project writes it, "{path}" and "{behind}" stand for these keys; empty: its kind.
        keys: keys of ``file_system`` that not every kind has.
        required: of these, keys that it needs, with a value to begin with.
        problems: findings on the values of its keys.
        made_by: provider that makes and runs it; None: nodes serve it, or it is there.
        priced: what is paid for of one that a cloud runs; None: nothing, or what nodes have.
        grows: whether it grows with what is stored, so that ``capacity`` is by what it is priced, and limits nothing.
        of_shared_files: a sentence on writes to a file that several nodes write; empty: nothing is known against them.
        is_global: whether all compute nodes see the same files.
        has_servers: whether data servers are among the nodes.
        most_servers: data servers at most; None: any number.
        own_metadata: whether it has metadata servers beside its data servers.
        on_this_machine: whether nodes of this machine, which share its kernel, can serve it.
        without_root: whether its servers work with the rights of one user. Others change to other users (rpcbind, ganesha, ceph),
            or keep attributes that only the machine's root may set (glusterfs).
        outlives_nodes: whether its files stay when nodes are destroyed, so that ``remove`` is called before.
        serves_each_device: whether each device of a node has a data server or a part of one.
        stripes: kinds of stripes that it has; empty: wavetank does not choose where the content of files lies.
        in_objects: whether every file is cut into objects on all data servers, whatever the kind of stripes is.
        fixed_objects: whether no stripe changes the size of these objects.
        layout_options: options that decide how files lie, whatever the stripe says.
        tried: layouts that ``wavetank try`` may compare, the most telling first.
        free_memory_bytes: memory that this machine must have free for them.
        usable_share: part of its capacity that files can fill.
        guest_methods: access methods of guests that tests bring up.
        against_guests: why guests have no other access method; empty: it was never tried.
        guest_modules: modules of a guest's kernel that nothing loads by itself.
        lacking_on_images: what the known images of clouds lack for it, and what to take; empty: nothing.
    """

    title: str = ""
    keys: frozenset[str] = frozenset()
    required: Mapping[str, str] = field(default_factory=dict)
    problems: Callable[[FileSystem], Iterable[str]] = _no_problems
    made_by: str | None = None
    priced: Callable[[ClusterSpec], Stored | None] = _no_price
    grows: bool = False
    of_shared_files: str = ""
    is_global: bool = True
    has_servers: bool = True
    most_servers: int | None = None
    own_metadata: bool = False
    on_this_machine: bool = True
    without_root: bool = False
    outlives_nodes: bool = False
    serves_each_device: bool = False
    stripes: tuple[StripeKind, ...] = ("distributed",)
    in_objects: bool = False
    fixed_objects: bool = False
    layout_options: tuple[str, ...] = ()
    tried: tuple[TriedLayout, ...] = ()
    free_memory_bytes: int = 0
    usable_share: float = 0.9
    guest_methods: tuple[Access, ...] = ("virtual",)
    against_guests: str = ""
    guest_modules: tuple[str, ...] = ("fuse",)
    lacking_on_images: str = ""

    @property
    def is_there(self) -> bool:
        """Whether it is mounted already when a cluster comes up."""
        return not self.has_servers and self.made_by is None


UNKNOWN = Facts(
    keys=frozenset(
        {"behind", "capacity", "deployment", "gateway_placement", "gateways", "package", "path", "prefix", "throughput",
         "throughput_per_tib", "tls"}
    ),
    own_metadata=True,
    serves_each_device=True,
    stripes=("distributed", "sharded", "replicated", "disperse"),
)  # fmt: skip
"""Of a kind whose driver is not installed: results of its clusters are read all the same, so that nothing is refused."""
OWN_KEYS = UNKNOWN.keys
"""Keys of ``file_system`` that not every kind has."""
