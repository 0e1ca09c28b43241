"""The version of the installed distribution, which pyproject.toml names."""

from importlib.metadata import version

VERSION = version("frontdesk")
