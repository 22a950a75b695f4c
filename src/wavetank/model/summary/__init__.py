"""What a model says of a run as a whole: files, requirements, relations of levels, times, timeline.

In: ``Activity``, phases and their series. Out: the records of the model's tables beside phases and programs.
"""
