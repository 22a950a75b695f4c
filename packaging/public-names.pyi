from wavetank.errors import WavetankError as WavetankError
from wavetank.interface.campaign import Campaign as Campaign
from wavetank.interface.campaign import open_campaign as open_campaign
from wavetank.interface.figure import Figure as Figure
from wavetank.interface.kernel import Kernel as Kernel
from wavetank.interface.kernel import open_kernel as open_kernel
from wavetank.interface.model import Model as Model
from wavetank.interface.model import open_model as open_model
from wavetank.interface.table import Column as Column
from wavetank.interface.table import Table as Table
from wavetank.interface.trace import Trace as Trace
from wavetank.interface.trace import open_trace as open_trace

__version__: str
