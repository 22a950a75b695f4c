"""Which calls of a model's programs are a replay's to make: what the choice of steps and the certificate ask alike."""

from __future__ import annotations

from wavetank.kernel.document import calls
from wavetank.kernel.document.steps import are_of_one_call
from wavetank.model.document.model import Model
from wavetank.model.document.program import FileStep, Step
from wavetank.model.document.step_walks import Around
from wavetank.trace.paths import is_stored


class OwnCalls:
    """The calls on files that a replay makes itself."""

    def __init__(self, model: Model) -> None:
        self._stored = {file.file_id for file in model.files if is_stored(file.file_name)}

    def is_stored(self, file_id: int) -> bool:
        """Whether a file is one of a storage system."""
        return file_id in self._stored

    def has(self, step: FileStep) -> bool:
        """Whether a call is on a stored file."""
        return self.is_stored(step.file_id)

    def is_known(self, step: FileStep, around: Around) -> bool:
        """Whether a replay knows such a call, and both names of one on two names are of stored files."""
        if calls.performed(step.iop_type) is None:
            return False
        on_two_names = step.iop_type in calls.ON_TWO_NAMES and not step.error
        pairs = ((step, around.after), (around.before, step))
        return not on_two_names or any(self._are_of_one_call(*pair) for pair in pairs)

    def _are_of_one_call(self, old: Step | None, new: Step | None) -> bool:
        return are_of_one_call(old, new) and all(
            isinstance(one, FileStep) and self.is_stored(one.file_id) for one in (old, new)
        )
