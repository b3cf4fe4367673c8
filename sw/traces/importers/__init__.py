"""Readers of the files in which users keep sparse weights; one module a family of formats."""

from fanweave.sw.traces.importers.request import ImportRequest, import_trace

__all__ = ["ImportRequest", "import_trace"]
