"""Rows of the seeds, a file for each seed and part of it; importing this module collects them."""

from . import dashboard, feeds, graphs, vcon_agents, vcon_out, vcon_parts, vcon_traces

__all__ = ("dashboard", "feeds", "graphs", "vcon_agents", "vcon_out", "vcon_parts", "vcon_traces")
