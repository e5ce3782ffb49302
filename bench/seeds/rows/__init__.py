"""Rows of the seeds, a file for each seed and part of it; importing this module collects them."""

from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    if _file.name != "__main__":
        import_module(f"{__name__}.{_file.name}")
