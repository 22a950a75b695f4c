"""Who answers, and what there is: the same for the controller and for nodes."""

from __future__ import annotations

from wavetank import __version__
from wavetank.service.csi.messages import CONTROLLER_SERVICE, ONLINE, Message, made
from wavetank.service.csi.turns import Call

DRIVER = "spaces.wavetank"
"""The driver's name, as StorageClasses and the CSIDriver object write it."""


class Identity:
    """Answers who it is."""

    service = "Identity"

    def get_plugin_info(self, request: Message, call: Call) -> Message:
        """Name and version."""
        del request, call
        return made("GetPluginInfoResponse", name=DRIVER, vendor_version=__version__)

    def get_plugin_capabilities(self, request: Message, call: Call) -> Message:
        """There is a controller, and volumes grow while they are used."""
        del request, call
        of_controller = made("PluginCapability", service=made("TypeOf", type=CONTROLLER_SERVICE))
        grows = made("PluginCapability", volume_expansion=made("TypeOf", type=ONLINE))
        return made("GetPluginCapabilitiesResponse", capabilities=[of_controller, grows])

    def probe(self, request: Message, call: Call) -> Message:
        """It answers."""
        del request, call
        return made("ProbeResponse", ready=made("BoolValue", value=True))
