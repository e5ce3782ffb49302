"""Exports: what may be asked for (``export_options``), the job as a value (``job``), its bytes (``writing``), its row
(``export_jobs``). Redacted vCons are exports, too (``redactions``).
"""
