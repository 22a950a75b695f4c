"""Runs a kernel on this machine's processes: by the replay program, IOR or fio.

In: a kernel, a folder with its files, a launcher. Out: a `ReplayResult`, once or as a session; no process left behind.
"""
